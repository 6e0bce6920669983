package page

import (
	"context"

	"github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A hold is the buttons of the mouse that are pressed in a tab, and where the
// pointer is.
type hold struct {
	buttons map[executor.Button]bool
	x, y    float64
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
	return t.sess.Start(ctx, input.CommandDispatchMouseEvent, mouseEvent{
		Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: bits, ClickCount: clicks,
	})
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

// letGo releases whatever is pressed, and waits for nothing: for the end of a
// call that failed, and before anything else is done to the page. Data that is
// being dragged is dropped nowhere.
func (v *View) letGo(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	t := v.tab
	for {
		t.mu.Lock()
		button, _ := t.hold.down()
		t.mu.Unlock()
		if button == "" {
			return
		}
		t.sess.Start(ctx, input.CommandCancelDragging, nil)
		t.sess.Start(ctx, input.CommandDispatchMouseEvent, t.released(button))
	}
}

// LetGo releases the buttons that Mouse left pressed, and takes back what is
// emulated: for the end of a session.
func (v *View) LetGo() {
	v.letGo(context.Background())
	v.stopEmulating()
}

// input sends an input and waits until the page has handled it. A dialog that
// it opens, or the end of the document, is no error.
func (v *View) input(ctx context.Context, method string, params any) error {
	ctx, cancel := context.WithTimeout(callerOf(ctx), inputTimeout)
	defer cancel()
	p, err := v.tab.sess.Start(ctx, method, params)
	if err != nil {
		return err
	}
	return interrupted((&document{tab: v.tab}).wait(ctx, p, nil))
}
