package keys

import (
	"slices"
)

// clipboardCommand returns the name of the clipboard command of a chord, or "". It considers both
// Control and Meta, because which of them applies depends on the system.
func clipboardCommand(k Key, bits int64) string {
	switch {
	case bits&(bitControl|bitMeta) != 0:
		return map[string]string{"KeyC": "copy", "KeyX": "cut", "KeyV": "paste", "Insert": "copy"}[k.code]
	case bits&bitShift != 0:
		return map[string]string{"Insert": "paste", "Delete": "cut"}[k.code]
	}
	return ""
}

// clipboardKeys are the Windows virtual key codes of the keys in clipboardCommand.
var clipboardKeys = []int64{'C', 'V', 'X', 45, 46} // Insert, Delete

// UsesClipboard reports whether a chord copies, cuts or pastes.
func (c *Chord) UsesClipboard() bool {
	bits, err := ModifierBits(c.Modifiers)
	return err == nil && clipboardCommand(c.Key, bits) != ""
}

// A RawEvent holds parameters of Input.dispatchKeyEvent.
type RawEvent struct {
	Modifiers int64    `json:"modifiers"`
	Code      string   `json:"code"`
	Windows   int64    `json:"windowsVirtualKeyCode"` // Chromium selects editing commands by it
	Commands  []string `json:"commands"`
}

// UsesClipboard reports whether the event may copy, cut or paste.
func (e *RawEvent) UsesClipboard() bool {
	modified := e.Modifiers&(bitControl|bitMeta|bitShift) != 0
	return len(e.Commands) > 0 ||
		modified && (e.Code == "" || clipboardCommand(Key{code: e.Code}, e.Modifiers) != "" || slices.Contains(clipboardKeys, e.Windows))
}
