package page

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Chromium has one clipboard for all browser contexts, and some domains of CDP are not limited to
// the context of the page. Clients that share a browser could exchange data through both, so
// clipboard shortcuts and these domains are rejected there.

// crossContextDomains are the CDP domains whose commands can access other browser contexts.
var crossContextDomains = []string{"Browser", "Extensions", "Storage", "SystemInfo", "Target", "Tethering", "Tracing"}

// clipboardCommand returns the name of the clipboard command of a chord, or "". It considers both
// Control and Meta, because which of them applies depends on the system.
func clipboardCommand(k key, bits int64) string {
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

// checkClipboard returns ErrNotActionable for a clipboard shortcut in a shared browser.
func (v *View) checkClipboard(c *chord) error {
	bits, err := modifierBits(c.modifiers)
	if err != nil {
		return err
	}
	command := clipboardCommand(c.key, bits)
	if command == "" || !v.tab.opts.SharedBrowser {
		return nil
	}
	return executor.Errorf(executor.ErrNotActionable, "Read the text from the page, and enter it with Page.Type.",
		"the shortcut to %s is not available: the sessions of this browser share one clipboard", command)
}

// checkRawCommand returns ErrNotActionable for a raw CDP command that could access the browser
// contexts of other clients in a shared browser.
func (v *View) checkRawCommand(method string, params json.RawMessage) error {
	domain, _, _ := strings.Cut(method, ".")
	var p struct {
		Modifiers int64    `json:"modifiers"`
		Code      string   `json:"code"`
		Windows   int64    `json:"windowsVirtualKeyCode"` // Chromium selects editing commands by it
		Commands  []string `json:"commands"`
		Type      string   `json:"type"`
		Button    string   `json:"button"`
	}
	_ = json.Unmarshal(params, &p) // the browser reports invalid parameters
	switch {
	case !v.tab.opts.SharedBrowser:
	case slices.Contains(crossContextDomains, domain):
		return executor.Errorf(executor.ErrNotActionable, "Use Options.Profile, whose browser is not shared.", "%s can access other sessions of this browser", method)
	case method == "Input.dispatchKeyEvent" && (len(p.Commands) > 0 || p.Modifiers&(bitControl|bitMeta|bitShift) != 0 && (p.Code == "" || clipboardCommand(key{code: p.Code}, p.Modifiers) != "" || slices.Contains(clipboardKeys, p.Windows))):
		return executor.Errorf(executor.ErrNotActionable, "Set code, and omit commands.", "the key event could use the clipboard, which the sessions of this browser share")
	case method == "Input.dispatchMouseEvent" && p.Type != "mouseMoved" && p.Button == string(executor.ButtonMiddle):
		return executor.Errorf(executor.ErrNotActionable, "Click with Page.Click.", "the middle button could paste what another session of this browser has selected")
	}
	return nil
}
