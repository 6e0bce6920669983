package input

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
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

// down returns a pressed button, the left one if it is pressed, or "" if none is. h.mu must be held.
func (b *Buttons) down() executor.Button {
	for _, button := range []executor.Button{executor.ButtonLeft, executor.ButtonRight, executor.ButtonMiddle} {
		if b.bits&buttonBits[button] != 0 {
			return button
		}
	}
	return ""
}

// press marks a button as pressed at a point, until release or releaseButtons, and returns the event
// that presses it.
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

// TrackRaw records the buttons and touches of a raw input command, so that releaseButtons can
// end them. The caller calls done with the result of the command: a release counts only if it
// succeeds.
func (dev *device) TrackRaw(method string, params json.RawMessage) (done func(err error)) {
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
	h := dev.buttons
	switch {
	case method == cdpinput.CommandDispatchTouchEvent:
		touches := len(event.TouchPoints) > 0
		if touches {
			h.touched.Store(true)
		}
		return func(err error) {
			if err == nil && !touches {
				h.touched.Store(false)
			}
		}
	case method == cdpinput.CommandDispatchMouseEvent && buttonBits[event.Button] != 0 && event.Type == string(cdpinput.DispatchMouseEventTypeMousePressed):
		h.press(event.Button, event.X, event.Y)
	case method == cdpinput.CommandDispatchMouseEvent && event.Type == string(cdpinput.DispatchMouseEventTypeMouseMoved):
		h.move(event.X, event.Y)
	case method == cdpinput.CommandDispatchMouseEvent && event.Type == string(cdpinput.DispatchMouseEventTypeMouseReleased):
		return func(err error) {
			if err == nil {
				h.release(event.Button)
			}
		}
	}
	return func(error) {}
}

// movePressedPointer moves the pointer while the pressed buttons stay pressed.
func (dev *device) movePressedPointer(ctx context.Context, x, y float64) error {
	return dev.input(ctx, cdpinput.CommandDispatchMouseEvent, dev.buttons.move(x, y))
}

// release releases a button at the pointer's position.
func (dev *device) release(ctx context.Context, button executor.Button) error {
	return dev.input(ctx, cdpinput.CommandDispatchMouseEvent, dev.buttons.release(button))
}

// blockPaste prevents that the middle button pastes: see js/kept_content.js.
func (dev *device) blockPaste(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dev.timing.PasteBlock)
	defer cancel()
	var wg sync.WaitGroup
	for _, d := range dev.tree.Documents() {
		wg.Go(func() { _ = d.Call(ctx, nil, "blockPaste", dev.timing.PasteRelease.Milliseconds()) })
	}
	wg.Wait()
}

// touchCancel is the parameters of the event that cancels all touches without an effect.
var touchCancel = touchEvent{Type: cdpinput.DispatchTouchEventTypeTouchCancel, Points: []touchPoint{}}

// ReleaseButtons releases all pressed buttons and cancels touches, without waiting for the page. It
// is called after a failed call, and before other commands. It cancels a drag without a drop. If it
// fails, the next call sends the remaining events.
func (dev *device) ReleaseButtons(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	h := dev.buttons
	defer func() { h.failed.Store(err != nil) }()
	if h.touched.Swap(false) {
		if _, err := dev.StartInput(ctx, cdpinput.CommandDispatchTouchEvent, touchCancel); err != nil {
			h.touched.Store(true)
			return err
		}
	}
	for {
		h.mu.Lock()
		button := h.down()
		h.mu.Unlock()
		if button == "" {
			return nil
		}
		dev.tree.Session().Start(ctx, cdpinput.CommandCancelDragging, nil)
		event := h.release(button)
		if _, err := dev.StartInput(ctx, cdpinput.CommandDispatchMouseEvent, event); err != nil {
			h.press(button, event.X, event.Y)
			return err
		}
	}
}

// input sends an input event and waits until the page has handled it. A dialog or a detached
// document, which the event may cause, is not an error.
func (dev *device) input(ctx context.Context, method string, params any) error {
	ctx, cancel := context.WithTimeout(deadline.Caller(ctx), dev.timing.Input)
	defer cancel()
	p, err := dev.StartInput(ctx, method, params)
	if err != nil {
		return err
	}
	return ignoreInterruption(dev.tree.Wait(ctx, p, nil))
}

// Block starts to block input in the documents of the tab that the client may not act on, and returns the
// blocker.
func (dev *device) Block(ctx context.Context) *shield.Blocker {
	return dev.shield.Block(ctx, dev.client)
}

// StartInput waits until input is blocked in denied documents and sends input. It does not wait for
// the response. All input must use it. It returns ErrPolicyDenied, and sends nothing, if the page has
// become an error page of the browser since the call was checked.
func (dev *device) StartInput(ctx context.Context, method string, params any) (*cdpconn.Pending, error) {
	if err := dev.errorPageDenial(params); err != nil {
		return nil, err
	}
	b := dev.Block(ctx)
	if e, ok := params.(mouseEvent); ok && e.Button == executor.ButtonMiddle {
		if err := b.Ready(ctx); err != nil {
			return nil, err
		}
		dev.blockPaste(ctx)
	}
	return b.Send(ctx, method, params)
}
