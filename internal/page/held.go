package page

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A hold stores the mouse buttons that are pressed in a tab, the position of the
// pointer, and whether a finger touches the page.
type hold struct {
	buttons map[executor.Button]bool
	x, y    float64
	touched bool
	failed  bool // letGo could not send everything
}

// buttonBits are the buttons as events count them.
var buttonBits = map[executor.Button]int{executor.ButtonLeft: 1, executor.ButtonRight: 2, executor.ButtonMiddle: 4}

// down returns a button that is pressed, "" when none is, and all as bits.
func (h *hold) down() (executor.Button, int) {
	var any executor.Button
	bits := 0
	for button, bit := range buttonBits {
		if h.buttons[button] {
			any, bits = button, bits|bit
		}
	}
	if bits&1 != 0 {
		any = executor.ButtonLeft
	}
	return any, bits
}

// startPress presses a button, and waits for nothing. It counts as pressed
// until release or letGo.
func (v *View) startPress(ctx context.Context, button executor.Button, x, y float64, clicks int) (*cdpconn.Pending, error) {
	t := v.tab
	t.mu.Lock()
	if t.hold.buttons == nil {
		t.hold.buttons = make(map[executor.Button]bool)
	}
	t.hold.buttons[button], t.hold.x, t.hold.y = true, x, y
	_, bits := t.hold.down()
	t.mu.Unlock()
	return v.startInput(ctx, input.CommandDispatchMouseEvent, mouseEvent{
		Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: bits, ClickCount: clicks,
	})
}

// holdRaw records what a raw command presses or touches, so that letGo can end it.
// The caller calls done with the result of the command: a release counts only if
// it succeeds.
func (t *Tab) holdRaw(method string, params json.RawMessage) (done func(err error)) {
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
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case method == input.CommandDispatchTouchEvent:
		t.hold.touched = t.hold.touched || len(event.TouchPoints) > 0
		return func(err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.hold.touched = t.hold.touched && (err != nil || len(event.TouchPoints) > 0)
		}
	case method == input.CommandDispatchMouseEvent && buttonBits[event.Button] != 0 && event.Type == string(input.DispatchMouseEventTypeMousePressed):
		if t.hold.buttons == nil {
			t.hold.buttons = make(map[executor.Button]bool)
		}
		t.hold.buttons[event.Button], t.hold.x, t.hold.y = true, event.X, event.Y
	case method == input.CommandDispatchMouseEvent && event.Type == string(input.DispatchMouseEventTypeMouseMoved):
		t.hold.x, t.hold.y = event.X, event.Y
	case method == input.CommandDispatchMouseEvent && event.Type == string(input.DispatchMouseEventTypeMouseReleased):
		return func(err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if err == nil {
				delete(t.hold.buttons, event.Button)
			}
		}
	}
	return func(error) {}
}

// pull moves the pointer with the buttons that are pressed.
func (v *View) pull(ctx context.Context, x, y float64) error {
	t := v.tab
	t.mu.Lock()
	t.hold.x, t.hold.y = x, y
	button, bits := t.hold.down()
	t.mu.Unlock()
	return v.input(ctx, input.CommandDispatchMouseEvent, mouseEvent{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Button: button, Buttons: bits})
}

// release releases a button where the pointer is.
func (v *View) release(ctx context.Context, button executor.Button) error {
	return v.input(ctx, input.CommandDispatchMouseEvent, v.tab.released(button))
}

// released returns the event that releases a button, which is not pressed any
// more from now on.
func (t *Tab) released(button executor.Button) mouseEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.hold.buttons, button)
	_, bits := t.hold.down()
	return mouseEvent{Type: input.DispatchMouseEventTypeMouseReleased, X: t.hold.x, Y: t.hold.y, Button: button, Buttons: bits, ClickCount: 1}
}

// touchCancel is the event that ends all touches without an effect.
var touchCancel = map[string]any{"type": "touchCancel", "touchPoints": []any{}}

// letGo releases all pressed buttons and ends touches, without waiting for the
// page. It is called after a failed call, and before other commands. It cancels a
// drag without a drop. If it fails, the next call sends the rest.
func (v *View) letGo(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	t := v.tab
	t.mu.Lock()
	touched := t.hold.touched
	t.hold.touched = false
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.hold.failed = err != nil
	}()
	if touched {
		if _, err := v.startInput(ctx, input.CommandDispatchTouchEvent, touchCancel); err != nil {
			t.mu.Lock()
			t.hold.touched = true
			t.mu.Unlock()
			return err
		}
	}
	for {
		t.mu.Lock()
		button, _ := t.hold.down()
		t.mu.Unlock()
		if button == "" {
			return nil
		}
		t.sess.Start(ctx, input.CommandCancelDragging, nil)
		event := t.released(button)
		if _, err := v.startInput(ctx, input.CommandDispatchMouseEvent, event); err != nil {
			t.mu.Lock()
			t.hold.buttons[button] = true
			t.mu.Unlock()
			return err
		}
	}
}

// LetGo releases the buttons that Mouse left pressed, and takes back what is
// emulated: for the end of a session.
func (v *View) LetGo() {
	v.letGo(context.Background())
	_ = v.unblock(context.Background())
	v.stopEmulating()
}

// input sends an input and waits until the page has handled it. A dialog that
// it opens, or the end of the document, is no error.
func (v *View) input(ctx context.Context, method string, params any) error {
	ctx, cancel := context.WithTimeout(callerOf(ctx), inputTimeout)
	defer cancel()
	p, err := v.startInput(ctx, method, params)
	if err != nil {
		return err
	}
	return interrupted((&document{tab: v.tab}).wait(ctx, p, nil))
}
