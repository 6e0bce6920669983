package page

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// pressedButtons holds the input state of a tab: the pressed mouse buttons, the position of the
// pointer, and whether a finger touches the page. The zero value is ready to use. Its methods,
// except down, are safe for concurrent use.
type pressedButtons struct {
	mu      sync.Mutex // guards the fields below
	buttons map[executor.Button]bool
	x, y    float64
	touched bool
	failed  bool // releaseButtons could not send all events
}

// buttonBits maps each button to its bit in MouseEvent.buttons.
var buttonBits = map[executor.Button]int{executor.ButtonLeft: 1, executor.ButtonRight: 2, executor.ButtonMiddle: 4}

// down returns a pressed button, or "" if no button is pressed, and the bits of all pressed
// buttons. h.mu must be held.
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

// press marks a button as pressed at a point and returns the bits of all pressed buttons.
func (h *pressedButtons) press(button executor.Button, x, y float64) (bits int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.buttons == nil {
		h.buttons = make(map[executor.Button]bool)
	}
	h.buttons[button], h.x, h.y = true, x, y
	_, bits = h.down()
	return bits
}

// move moves the pointer and returns the pressed button, or "", and the bits of all pressed buttons.
func (h *pressedButtons) move(x, y float64) (executor.Button, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.x, h.y = x, y
	return h.down()
}

// release marks a button as not pressed and returns the event that releases it.
func (h *pressedButtons) release(button executor.Button) mouseEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.buttons, button)
	_, bits := h.down()
	return mouseEvent{Type: input.DispatchMouseEventTypeMouseReleased, X: h.x, Y: h.y, Button: button, Buttons: bits, ClickCount: 1}
}

// pressed reports whether a button is pressed.
func (h *pressedButtons) pressed(button executor.Button) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.buttons[button]
}

// startPress presses a button without waiting for the page. The button counts as pressed until
// release or releaseButtons.
func (v *View) startPress(ctx context.Context, button executor.Button, x, y float64, clicks int) (*cdpconn.Pending, error) {
	bits := v.tab.pressed.press(button, x, y)
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
	h := &t.pressed
	switch {
	case method == input.CommandDispatchTouchEvent:
		touches := len(event.TouchPoints) > 0
		h.mu.Lock()
		defer h.mu.Unlock()
		h.touched = h.touched || touches
		return func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.touched = h.touched && (err != nil || touches)
		}
	case method == input.CommandDispatchMouseEvent && buttonBits[event.Button] != 0 && event.Type == string(input.DispatchMouseEventTypeMousePressed):
		h.press(event.Button, event.X, event.Y)
	case method == input.CommandDispatchMouseEvent && event.Type == string(input.DispatchMouseEventTypeMouseMoved):
		h.move(event.X, event.Y)
	case method == input.CommandDispatchMouseEvent && event.Type == string(input.DispatchMouseEventTypeMouseReleased):
		return func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if err == nil {
				delete(h.buttons, event.Button)
			}
		}
	}
	return func(error) {}
}

// movePressedPointer moves the pointer while the pressed buttons stay pressed.
func (v *View) movePressedPointer(ctx context.Context, x, y float64) error {
	button, bits := v.tab.pressed.move(x, y)
	return v.input(ctx, input.CommandDispatchMouseEvent, mouseEvent{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Button: button, Buttons: bits})
}

// release releases a button at the pointer's position.
func (v *View) release(ctx context.Context, button executor.Button) error {
	return v.input(ctx, input.CommandDispatchMouseEvent, v.tab.pressed.release(button))
}

// touchCancel is the parameters of the event that cancels all touches without an effect.
var touchCancel = map[string]any{"type": "touchCancel", "touchPoints": []any{}}

// releaseButtons releases all pressed buttons and cancels touches, without waiting for the page. It
// is called after a failed call, and before other commands. It cancels a drag without a drop. If it
// fails, the next call sends the remaining events.
func (v *View) releaseButtons(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	h := &v.tab.pressed
	h.mu.Lock()
	touched := h.touched
	h.touched = false
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.failed = err != nil
	}()
	if touched {
		if _, err := v.startInput(ctx, input.CommandDispatchTouchEvent, touchCancel); err != nil {
			h.mu.Lock()
			h.touched = true
			h.mu.Unlock()
			return err
		}
	}
	for {
		h.mu.Lock()
		button, _ := h.down()
		h.mu.Unlock()
		if button == "" {
			return nil
		}
		v.tab.sess.Start(ctx, input.CommandCancelDragging, nil)
		event := h.release(button)
		if _, err := v.startInput(ctx, input.CommandDispatchMouseEvent, event); err != nil {
			h.press(button, event.X, event.Y)
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
