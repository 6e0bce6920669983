package input

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
)

// Chromium has one clipboard for all browser contexts, and some domains of CDP are not limited to
// the context of the page. Clients that share a browser could exchange data through both, so
// clipboard shortcuts and these domains are rejected there. A browser with a window, and one that
// the user started, has the clipboard of the user's desktop. Shortcuts for it need a grant.

// crossContextDomains are the CDP domains whose commands can access other browser contexts.
var crossContextDomains = []string{"Browser", "Extensions", "Storage", "SystemInfo", "Target", "Tethering", "Tracing"}

// checkClipboard checks input to d that uses the clipboard. It returns ErrNotActionable in a shared
// browser. With the clipboard of the user's desktop, the gate decides.
func (dev *device) checkClipboard(ctx context.Context, d *frames.Document) error {
	switch {
	case dev.opts.SharedBrowser:
		return executor.Errorf(executor.ErrNotActionable, "Read the text from the page, and enter it with Page.Type.",
			"copying, cutting and pasting is not available: the sessions of this browser share one clipboard")
	case dev.opts.UserClipboard:
		return dev.client.Check(ctx, d, executor.OpClipboard, "")
	}
	return nil
}

// checkMiddleButton checks a press of the middle button at a point of the viewport, which in an
// editable element may paste what the user has selected. See also blockPaste.
func (pt *pointer) checkMiddleButton(ctx context.Context, x, y float64) error {
	if !pt.opts.UserClipboard {
		return nil
	}
	d, editable, err := pt.documentAt(ctx, x, y)
	if err != nil || !editable {
		return err
	}
	return pt.checkClipboard(ctx, d)
}

// CheckRawCommand checks a raw CDP command for d that could use the clipboard, or access the browser
// contexts of other clients in a shared browser.
func (dev *device) CheckRawCommand(ctx context.Context, d *frames.Document, method string, params json.RawMessage) error {
	domain, _, _ := strings.Cut(method, ".")
	if dev.opts.SharedBrowser && slices.Contains(crossContextDomains, domain) {
		return executor.Errorf(executor.ErrNotActionable, "Use Options.Profile, whose browser is not shared.", "%s can access other sessions of this browser", method)
	}
	if !rawInputUsesClipboard(method, params) {
		return nil
	}
	return dev.checkClipboard(ctx, d)
}

// rawInputUsesClipboard reports whether the parameters of a raw input command may copy, cut or paste.
func rawInputUsesClipboard(method string, params json.RawMessage) bool {
	var p struct {
		keys.RawEvent
		Type   string `json:"type"`
		Button string `json:"button"`
	}
	_ = json.Unmarshal(params, &p) // the browser reports invalid parameters
	switch method {
	case "Input.dispatchKeyEvent":
		return p.UsesClipboard()
	case "Input.dispatchMouseEvent":
		return p.Type != "mouseMoved" && p.Button == string(executor.ButtonMiddle)
	}
	return false
}
