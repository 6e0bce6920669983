package page

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Chromium has one clipboard for all browser contexts, and some domains of CDP are not limited to
// the context of the page. In a browser with contexts of other clients, both would connect the
// clients, so keys of the clipboard and these domains are rejected.

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

// bits returns the modifier bits of a chord.
func (c *chord) bits() (bits int64) {
	for _, m := range c.modifiers {
		bits |= modifierKeys[m].bit
	}
	return bits
}

// checkClipboard returns ErrNotActionable for a chord of the clipboard in a shared browser.
func (v *View) checkClipboard(c *chord) error {
	command := clipboardCommand(c.key, c.bits())
	if command == "" || !v.tab.opts.SharedBrowser {
		return nil
	}
	return executor.Errorf(executor.ErrNotActionable, "Read the text from the page, and enter it with Page.Type.",
		"the %s key was not pressed: sessions share this browser, and they would share the clipboard", command)
}

// checkRawCommand returns ErrNotActionable for a raw CDP command that could access the browser
// contexts of other clients in a shared browser.
func (v *View) checkRawCommand(method string, params json.RawMessage) error {
	domain, _, _ := strings.Cut(method, ".")
	var p struct {
		Modifiers int64    `json:"modifiers"`
		Code      string   `json:"code"`
		Commands  []string `json:"commands"`
	}
	_ = json.Unmarshal(params, &p) // the browser reports invalid parameters
	switch {
	case !v.tab.opts.SharedBrowser:
	case slices.Contains(crossContextDomains, domain):
		return executor.Errorf(executor.ErrNotActionable, "Use a browser that is not shared.", "%s can access other sessions of this browser", method)
	case method == "Input.dispatchKeyEvent" && (len(p.Commands) > 0 || p.Modifiers&(bitControl|bitMeta|bitShift) != 0 && (p.Code == "" || clipboardCommand(key{code: p.Code}, p.Modifiers) != "")):
		return executor.Errorf(executor.ErrNotActionable, "Give the code of the key, and no editing commands.", "the key may be one of the clipboard, which the sessions of this browser share")
	}
	return nil
}
