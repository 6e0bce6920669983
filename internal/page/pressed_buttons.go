package page

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// pressedButtons holds the input state of a tab: the pressed mouse buttons, the position of the
// pointer, and whether a finger touches the page.
type pressedButtons struct {
	buttons map[executor.Button]bool
	x, y    float64
	touched bool
	failed  bool // releaseButtons could not send all events
}

// buttonBits maps each button to its bit in MouseEvent.buttons.
var buttonBits = map[executor.Button]int{executor.ButtonLeft: 1, executor.ButtonRight: 2, executor.ButtonMiddle: 4}

// down returns a pressed button, or "" if no button is pressed, and the bits of all pressed
// buttons.
func (h *pressedButtons) down() (executor.Button, int) {
	var pressed executor.Button
	bits := 0
	for button, bit := range buttonBits {
		if h.buttons[button] {
			pressed, bits = button, bits|bit
		}
	}
	if bits&1 != 0 {
		pressed = executor.ButtonLeft
	}
	return pressed, bits
}

// startPress presses a button without waiting for the page. The button counts as pressed until
// release or releaseButtons.
func (v *View) startPress(ctx context.Context, button executor.Button, x, y float64, clicks int) (*cdpconn.Pending, error) {
	t := v.tab
	t.mu.Lock()
	if t.pressed.buttons == nil {
		t.pressed.buttons = make(map[executor.Button]bool)
	}
	t.pressed.buttons[button], t.pressed.x, t.pressed.y = true, x, y
	_, bits := t.pressed.down()
	t.mu.Unlock()
	return v.startInput(ctx, input.CommandDispatchMouseEvent, mouseEvent{
		Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: bits, ClickCount: clicks,
	})
}

// trackRawInput records the buttons and touches of a raw input command, so that releaseButtons can
// end them. The caller calls done with the result of the command: a release counts only if it
// succeeds.
func (t *Tab) trackRawInput(method string, params json.RawMessage) (done func(err error)) {
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
		t.pressed.touched = t.pressed.touched || len(event.TouchPoints) > 0
		return func(err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.pressed.touched = t.pressed.touched && (err != nil || len(event.TouchPoints) > 0)
		}
	case method == input.CommandDispatchMouseEvent && buttonBits[event.Button] != 0 && event.Type == string(input.DispatchMouseEventTypeMousePressed):
		if t.pressed.buttons == nil {
			t.pressed.buttons = make(map[executor.Button]bool)
		}
		t.pressed.buttons[event.Button], t.pressed.x, t.pressed.y = true, event.X, event.Y
	case method == input.CommandDispatchMouseEvent && event.Type == string(input.DispatchMouseEventTypeMouseMoved):
		t.pressed.x, t.pressed.y = event.X, event.Y
	case method == input.CommandDispatchMouseEvent && event.Type == string(input.DispatchMouseEventTypeMouseReleased):
		return func(err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if err == nil {
				delete(t.pressed.buttons, event.Button)
			}
		}
	}
	return func(error) {}
}

// movePressedPointer moves the pointer while the pressed buttons stay pressed.
func (v *View) movePressedPointer(ctx context.Context, x, y float64) error {
	t := v.tab
	t.mu.Lock()
	t.pressed.x, t.pressed.y = x, y
	button, bits := t.pressed.down()
	t.mu.Unlock()
	return v.input(ctx, input.CommandDispatchMouseEvent, mouseEvent{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Button: button, Buttons: bits})
}

// release releases a button at the pointer's position.
func (v *View) release(ctx context.Context, button executor.Button) error {
	return v.input(ctx, input.CommandDispatchMouseEvent, v.tab.released(button))
}

// released marks a button as not pressed and returns the event that releases it.
func (t *Tab) released(button executor.Button) mouseEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pressed.buttons, button)
	_, bits := t.pressed.down()
	return mouseEvent{Type: input.DispatchMouseEventTypeMouseReleased, X: t.pressed.x, Y: t.pressed.y, Button: button, Buttons: bits, ClickCount: 1}
}

// touchCancel is the parameters of the event that cancels all touches without an effect.
var touchCancel = map[string]any{"type": "touchCancel", "touchPoints": []any{}}

// releaseButtons releases all pressed buttons and cancels touches, without waiting for the page. It
// is called after a failed call, and before other commands. It cancels a drag without a drop. If it
// fails, the next call sends the remaining events.
func (v *View) releaseButtons(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	t := v.tab
	t.mu.Lock()
	touched := t.pressed.touched
	t.pressed.touched = false
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.pressed.failed = err != nil
	}()
	if touched {
		if _, err := v.startInput(ctx, input.CommandDispatchTouchEvent, touchCancel); err != nil {
			t.mu.Lock()
			t.pressed.touched = true
			t.mu.Unlock()
			return err
		}
	}
	for {
		t.mu.Lock()
		button, _ := t.pressed.down()
		t.mu.Unlock()
		if button == "" {
			return nil
		}
		t.sess.Start(ctx, input.CommandCancelDragging, nil)
		event := t.released(button)
		if _, err := v.startInput(ctx, input.CommandDispatchMouseEvent, event); err != nil {
			t.mu.Lock()
			t.pressed.buttons[button] = true
			t.mu.Unlock()
			return err
		}
	}
}

// Release releases the buttons that Mouse left pressed, and resets emulation. It is called when a
// session ends.
func (v *View) Release() {
	v.releaseButtons(context.Background())
	_ = v.unblock(context.Background())
	v.resetEmulation()
}

// input sends an input event and waits until the page has handled it. A dialog or a detached
// document, which the event may cause, is not an error.
func (v *View) input(ctx context.Context, method string, params any) error {
	ctx, cancel := context.WithTimeout(parentContext(ctx), inputTimeout)
	defer cancel()
	p, err := v.startInput(ctx, method, params)
	if err != nil {
		return err
	}
	return ignoreInterruption((&document{tab: v.tab}).wait(ctx, p, nil))
}
