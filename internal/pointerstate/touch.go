package pointerstate

import (
	cdpinput "github.com/chromedp/cdproto/input"
)

// A TouchEvent holds the parameters of Input.dispatchTouchEvent.
type TouchEvent struct {
	Type      cdpinput.DispatchTouchEventType `json:"type"`
	Points    []TouchPoint                    `json:"touchPoints"` // not nil; empty when the finger is lifted
	Modifiers int64                           `json:"modifiers"`
}

// A TouchPoint is a finger on the page.
type TouchPoint struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// TapEvents returns the events of a tap at a point, which are of type TouchEvent.
func TapEvents(x, y float64, modifiers int64) []any {
	return []any{
		TouchEvent{cdpinput.DispatchTouchEventTypeTouchStart, []TouchPoint{{x, y}}, modifiers},
		TouchEvent{cdpinput.DispatchTouchEventTypeTouchEnd, []TouchPoint{}, modifiers},
	}
}

// TouchCancel is the parameters of the event that cancels all touches without an effect.
var TouchCancel = TouchEvent{Type: cdpinput.DispatchTouchEventTypeTouchCancel, Points: []TouchPoint{}}
