package input

import (
	"context"
	"sync"
	"sync/atomic"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Buttons hold the input state of a tab: the pressed mouse buttons, the position of the
// pointer, and whether a finger touches the page. The zero value is ready to use. Its methods,
// except down, are safe for concurrent use.
type Buttons struct {
	mu   sync.Mutex // guards bits, x and y
	bits int        // of the pressed buttons; see buttonBits
	x, y float64

	touched atomic.Bool
	failed  atomic.Bool // ReleaseButtons could not send all events
}

// buttonBits maps each button to its bit in MouseEvent.buttons.
var buttonBits = map[executor.Button]int{executor.ButtonLeft: 1, executor.ButtonRight: 2, executor.ButtonMiddle: 4}

// down returns a pressed button, the left one if it is pressed, or "" if none is. b.mu must be
// held.
func (b *Buttons) down() executor.Button {
	for _, button := range []executor.Button{executor.ButtonLeft, executor.ButtonRight, executor.ButtonMiddle} {
		if b.bits&buttonBits[button] != 0 {
			return button
		}
	}
	return ""
}

// press marks a button as pressed at a point, until release or ReleaseButtons, and returns the
// event that presses it.
func (b *Buttons) press(button executor.Button, x, y float64) mouseEvent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bits, b.x, b.y = b.bits|buttonBits[button], x, y
	return mouseEvent{Type: cdpinput.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: b.bits, ClickCount: 1}
}

// move moves the pointer and returns the event of the move, with the buttons that stay pressed.
func (b *Buttons) move(x, y float64) mouseEvent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.x, b.y = x, y
	return mouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Button: b.down(), Buttons: b.bits}
}

// release marks a button as not pressed and returns the event that releases it.
func (b *Buttons) release(button executor.Button) mouseEvent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bits &^= buttonBits[button]
	return mouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseReleased, X: b.x, Y: b.y, Button: button, Buttons: b.bits, ClickCount: 1}
}

// pressed reports whether a button is pressed.
func (b *Buttons) pressed(button executor.Button) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bits&buttonBits[button] != 0
}

// movePressedPointer moves the pointer while the pressed buttons stay pressed.
func (a *Actor) movePressedPointer(ctx context.Context, x, y float64) error {
	return a.input(ctx, cdpinput.CommandDispatchMouseEvent, a.buttons.move(x, y))
}

// release releases a button at the pointer's position.
func (a *Actor) release(ctx context.Context, button executor.Button) error {
	return a.input(ctx, cdpinput.CommandDispatchMouseEvent, a.buttons.release(button))
}

// ReleaseButtons releases all pressed buttons and cancels touches, without waiting for the page. It
// is called after a failed call, and before other commands. It cancels a drag without a drop. If it
// fails, the next call sends the remaining events.
func (a *Actor) ReleaseButtons(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	b := a.buttons
	defer func() { b.failed.Store(err != nil) }()
	if b.touched.Swap(false) {
		if _, err := a.StartInput(ctx, cdpinput.CommandDispatchTouchEvent, touchCancel); err != nil {
			b.touched.Store(true)
			return err
		}
	}
	for {
		b.mu.Lock()
		button := b.down()
		b.mu.Unlock()
		if button == "" {
			return nil
		}
		a.tree.Session().Start(ctx, cdpinput.CommandCancelDragging, nil)
		event := b.release(button)
		if _, err := a.StartInput(ctx, cdpinput.CommandDispatchMouseEvent, event); err != nil {
			b.press(button, event.X, event.Y)
			return err
		}
	}
}
