// Package pointerstate holds which buttons and fingers are pressed in a tab, and the parameters of the
// commands that press them.
package pointerstate

import (
	"slices"
	"sync"
	"sync/atomic"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A MouseEvent holds the parameters of Input.dispatchMouseEvent.
type MouseEvent struct {
	Type       cdpinput.DispatchMouseEventType `json:"type"`
	X          float64                         `json:"x"`
	Y          float64                         `json:"y"`
	Button     executor.Button                 `json:"button,omitempty"`
	Buttons    int                             `json:"buttons"`
	ClickCount int                             `json:"clickCount,omitempty"`
	Modifiers  int64                           `json:"modifiers,omitempty"`
}

// ClickEvents returns the events, of type MouseEvent, of the n-th click at a point: a press and a release,
// before the first of them a move.
func ClickEvents(x, y float64, button executor.Button, n int, modifiers int64) []any {
	events := []any{
		MouseEvent{Type: cdpinput.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: ButtonBits[button], ClickCount: n, Modifiers: modifiers},
		MouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseReleased, X: x, Y: y, Button: button, ClickCount: n, Modifiers: modifiers},
	}
	if n > 1 {
		return events
	}
	return slices.Insert(events, 0, any(MouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Modifiers: modifiers}))
}

// Buttons hold the input state of a tab: the pressed mouse buttons, the position of the
// pointer, and whether a finger touches the page. The zero value is ready to use. Its methods
// are safe for concurrent use.
type Buttons struct {
	mu   sync.Mutex // guards bits, x and y
	bits int        // of the pressed buttons; see ButtonBits
	x, y float64

	Touched atomic.Bool
	Failed  atomic.Bool // the events that release the buttons could not all be sent
}

// ButtonBits maps each button to its bit in MouseEvent.buttons.
var ButtonBits = map[executor.Button]int{executor.ButtonLeft: 1, executor.ButtonRight: 2, executor.ButtonMiddle: 4}

// CheckButton returns ErrBadArgs for an unknown button.
func CheckButton(button executor.Button) error {
	if ButtonBits[button] == 0 {
		return executor.Errorf(executor.ErrBadArgs, "Use left, right or middle.", "button %q is unknown", string(button))
	}
	return nil
}

// Down returns a pressed button, the left one if it is pressed, or "" if none is.
func (b *Buttons) Down() executor.Button {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.down()
}

// down is Down for a caller that holds b.mu.
func (b *Buttons) down() executor.Button {
	for _, button := range []executor.Button{executor.ButtonLeft, executor.ButtonRight, executor.ButtonMiddle} {
		if b.bits&ButtonBits[button] != 0 {
			return button
		}
	}
	return ""
}

// Press marks a button as pressed at a point, until Release, and returns the
// event that presses it.
func (b *Buttons) Press(button executor.Button, x, y float64) MouseEvent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bits, b.x, b.y = b.bits|ButtonBits[button], x, y
	return MouseEvent{Type: cdpinput.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: button, Buttons: b.bits, ClickCount: 1}
}

// Move moves the pointer and returns the event of the move, with the buttons that stay pressed.
func (b *Buttons) Move(x, y float64) MouseEvent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.x, b.y = x, y
	return MouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Button: b.down(), Buttons: b.bits}
}

// Release marks a button as not pressed and returns the event that releases it.
func (b *Buttons) Release(button executor.Button) MouseEvent {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bits &^= ButtonBits[button]
	return MouseEvent{Type: cdpinput.DispatchMouseEventTypeMouseReleased, X: b.x, Y: b.y, Button: button, Buttons: b.bits, ClickCount: 1}
}

// Pressed reports whether a button is pressed.
func (b *Buttons) Pressed(button executor.Button) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bits&ButtonBits[button] != 0
}
