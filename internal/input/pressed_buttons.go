package input

import (
	"slices"
	"sync"
	"sync/atomic"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A mouseEvent holds the parameters of Input.dispatchMouseEvent.
type mouseEvent struct {
	Type       cdpinput.DispatchMouseEventType `json:"type"`
	X          float64                         `json:"x"`
	Y          float64                         `json:"y"`
	Button     executor.Button                 `json:"button,omitempty"`
	Buttons    int                             `json:"buttons"`
	ClickCount int                             `json:"clickCount,omitempty"`
	Modifiers  int64                           `json:"modifiers,omitempty"`
}

// clickEvents returns the events, of type mouseEvent, of the n-th click at a point: a press and a release,
// before the first of them a move.
func clickEvents(x, y float64, button executor.Button, n int, modifiers int64) []any {
	events := []any{
		mouseEvent{Type: cdpinput.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: buttonBits[button], ClickCount: n, Modifiers: modifiers},
		mouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseReleased, X: x, Y: y, Button: button, ClickCount: n, Modifiers: modifiers},
	}
	if n > 1 {
		return events
	}
	return slices.Insert(events, 0, any(mouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Modifiers: modifiers}))
}

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

// checkButton returns ErrBadArgs for an unknown button.
func checkButton(button executor.Button) error {
	if buttonBits[button] == 0 {
		return executor.Errorf(executor.ErrBadArgs, "Use left, right or middle.", "button %q is unknown", string(button))
	}
	return nil
}

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
