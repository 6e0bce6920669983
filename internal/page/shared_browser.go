package page

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// Chromium has one clipboard for all browser contexts, and some domains of CDP are not limited to
// the context of the page. Clients that share a browser could exchange data through both, so
// clipboard shortcuts and these domains are rejected there. A browser with a window, and one that
// the user started, has the clipboard of the user's desktop. Shortcuts for it need a grant.

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

// usesClipboard reports whether a chord copies, cuts or pastes.
func (c *chord) usesClipboard() bool {
	bits, err := modifierBits(c.modifiers)
	return err == nil && clipboardCommand(c.key, bits) != ""
}

// checkClipboard checks input to d that uses the clipboard. It returns ErrNotActionable in a shared
// browser. With the clipboard of the user's desktop, the gate decides.
func (v *View) checkClipboard(ctx context.Context, d *frames.Document) error {
	switch {
	case v.tab.opts.SharedBrowser:
		return executor.Errorf(executor.ErrNotActionable, "Read the text from the page, and enter it with Page.Type.",
			"copying, cutting and pasting is not available: the sessions of this browser share one clipboard")
	case v.tab.opts.UserClipboard:
		return v.client.Check(ctx, d, executor.OpClipboard, "")
	}
	return nil
}

// checkMiddleButton checks a press of the middle button at a point of the viewport, which in an
// editable element may paste what the user has selected. See also blockPaste.
func (v *View) checkMiddleButton(ctx context.Context, x, y float64) error {
	if !v.tab.opts.UserClipboard {
		return nil
	}
	d, editable, err := v.documentAt(ctx, x, y)
	if err != nil || !editable {
		return err
	}
	return v.checkClipboard(ctx, d)
}

// checkRawCommand checks a raw CDP command for d that could use the clipboard, or access the browser
// contexts of other clients in a shared browser.
func (v *View) checkRawCommand(ctx context.Context, d *frames.Document, method string, params json.RawMessage) error {
	domain, _, _ := strings.Cut(method, ".")
	if v.tab.opts.SharedBrowser && slices.Contains(crossContextDomains, domain) {
		return executor.Errorf(executor.ErrNotActionable, "Use Options.Profile, whose browser is not shared.", "%s can access other sessions of this browser", method)
	}
	if !rawInputUsesClipboard(method, params) {
		return nil
	}
	return v.checkClipboard(ctx, d)
}

// rawInputUsesClipboard reports whether the parameters of a raw input command may copy, cut or paste.
func rawInputUsesClipboard(method string, params json.RawMessage) bool {
	var p struct {
		Modifiers int64    `json:"modifiers"`
		Code      string   `json:"code"`
		Windows   int64    `json:"windowsVirtualKeyCode"` // Chromium selects editing commands by it
		Commands  []string `json:"commands"`
		Type      string   `json:"type"`
		Button    string   `json:"button"`
	}
	_ = json.Unmarshal(params, &p) // the browser reports invalid parameters
	switch method {
	case "Input.dispatchKeyEvent":
		modified := p.Modifiers&(bitControl|bitMeta|bitShift) != 0
		return len(p.Commands) > 0 ||
			modified && (p.Code == "" || clipboardCommand(key{code: p.Code}, p.Modifiers) != "" || slices.Contains(clipboardKeys, p.Windows))
	case "Input.dispatchMouseEvent":
		return p.Type != "mouseMoved" && p.Button == string(executor.ButtonMiddle)
	}
	return false
}
