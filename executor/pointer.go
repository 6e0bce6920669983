package executor

import "context"

// Pointer is the part of a [Page] that controls the pointer in ways that [Actor] does not:
// drags, and input at a position in the viewport, for canvases and maps.
type Pointer interface {
	// Drag presses the left button on from, moves the pointer to the element to, and releases the
	// button there. It works for HTML drag and drop and for pages that follow the pointer events.
	// Both elements must become actionable first, as for Click; the error gives the reason if one
	// does not. It releases the button when repeated moves there no longer change the layout, or after a
	// second. The result's Drop says how the drag ended, and its Note if the dragged element did not move.
	Drag(ctx context.Context, from, to Target, opts *ActionOptions) (*Drag, error)
	// Mouse sends one input event at a position in the viewport. It returns ErrBadArgs if the
	// action is missing or unknown or the position is outside the viewport, and ErrPolicyDenied if the
	// frame there may not be acted on. A pressed button stays pressed until it is released by another call. It is also released when a
	// call fails, the next action starts, the tab navigates or the session closes.
	Mouse(ctx context.Context, opts *MouseOptions) (*Action, error)
}

// A DragOutcome is how a drag ended.
type DragOutcome string

// The outcomes of a drag.
const (
	DragAccepted    DragOutcome = "taken"   // the page accepted dropped data
	DragRejected    DragOutcome = "refused" // data was dragged, and no drop target accepted it
	DragPointerOnly DragOutcome = "pointer" // no data was dragged: the page received only pointer events
)

// A Drag is the result of [Pointer.Drag].
type Drag struct {
	Drop DragOutcome `json:"drop"`
	Changes
}

// A MouseAction is an action of [Pointer.Mouse].
type MouseAction string

// The mouse actions. MouseTap is a touch.
const (
	MouseMove  MouseAction = "move"
	MouseDown  MouseAction = "down"
	MouseUp    MouseAction = "up"
	MouseClick MouseAction = "click"
	MouseWheel MouseAction = "wheel"
	MouseTap   MouseAction = "tap"
)

// MouseOptions are the options of [Pointer.Mouse]. All lengths are in CSS pixels. X and Y are
// relative to the upper left corner of the viewport.
type MouseOptions struct {
	Action         MouseAction
	X, Y           float64
	Button         Button  // for down, up and click; default ButtonLeft
	DeltaX, DeltaY float64 // for wheel
}
