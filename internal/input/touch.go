package input

import (
	cdpinput "github.com/chromedp/cdproto/input"
)

// A touchEvent holds the parameters of Input.dispatchTouchEvent.
type touchEvent struct {
	Type      cdpinput.DispatchTouchEventType `json:"type"`
	Points    []touchPoint                    `json:"touchPoints"` // not nil; empty when the finger is lifted
	Modifiers int64                           `json:"modifiers"`
}

// A touchPoint is a finger on the page.
type touchPoint struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// tapEvents returns the events of a tap at a point, which are of type touchEvent.
func tapEvents(x, y float64, modifiers int64) []any {
	return []any{
		touchEvent{cdpinput.DispatchTouchEventTypeTouchStart, []touchPoint{{x, y}}, modifiers},
		touchEvent{cdpinput.DispatchTouchEventTypeTouchEnd, []touchPoint{}, modifiers},
	}
}

// touchCancel is the parameters of the event that cancels all touches without an effect.
var touchCancel = touchEvent{Type: cdpinput.DispatchTouchEventTypeTouchCancel, Points: []touchPoint{}}
