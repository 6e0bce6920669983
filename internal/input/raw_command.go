package input

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
)

// crossContextDomains are the CDP domains whose commands can access other browser contexts.
var crossContextDomains = []string{"Browser", "Extensions", "Storage", "SystemInfo", "Target", "Tethering", "Tracing"}

// CheckRawCommand checks a raw CDP command for d that could use the clipboard, or access the
// browser contexts of other clients in a shared browser.
func (a *Actor) CheckRawCommand(ctx context.Context, d *frames.Document, method string, params json.RawMessage) error {
	domain, _, _ := strings.Cut(method, ".")
	if a.keyboard.clipboard.shared && slices.Contains(crossContextDomains, domain) {
		return executor.Errorf(executor.ErrNotActionable, "Use Options.Profile, whose browser is not shared.", "%s can access other sessions of this browser", method)
	}
	if !rawInputUsesClipboard(method, params) {
		return nil
	}
	return a.keyboard.clipboard.check(ctx, d)
}

// rawInputUsesClipboard reports whether the parameters of a raw input command may copy, cut or
// paste.
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

// TrackRaw records the buttons and touches of a raw input command, so that ReleaseButtons can
// end them. The caller calls done with the result of the command: a release counts only if it
// succeeds.
func (p *pointer) TrackRaw(method string, params json.RawMessage) (done func(err error)) {
	var event struct {
		Type        string            `json:"type"`
		X           float64           `json:"x"`
		Y           float64           `json:"y"`
		Button      executor.Button   `json:"button"`
		TouchPoints []json.RawMessage `json:"touchPoints"`
	}
	if json.Unmarshal(params, &event) != nil {
		return func(error) {}
	}
	b := p.buttons
	switch {
	case method == cdpinput.CommandDispatchTouchEvent:
		touches := len(event.TouchPoints) > 0
		if touches {
			b.Touched.Store(true)
		}
		return func(err error) {
			if err == nil && !touches {
				b.Touched.Store(false)
			}
		}
	case method == cdpinput.CommandDispatchMouseEvent && pointerstate.ButtonBits[event.Button] != 0 && event.Type == string(cdpinput.DispatchMouseEventTypeMousePressed):
		b.Press(event.Button, event.X, event.Y)
	case method == cdpinput.CommandDispatchMouseEvent && event.Type == string(cdpinput.DispatchMouseEventTypeMouseMoved):
		b.Move(event.X, event.Y)
	case method == cdpinput.CommandDispatchMouseEvent && event.Type == string(cdpinput.DispatchMouseEventTypeMouseReleased):
		return func(err error) {
			if err == nil {
				b.Release(event.Button)
			}
		}
	}
	return func(error) {}
}
