package executor

import "context"

// Pointer is the part of an [Executor] that moves a pointer by hand, where
// [Actor]'s clicks are too little: drags, and input at a place of the viewport
// for canvases and maps.
type Pointer interface {
	// Drag presses the left button on from, moves to the element to and lets
	// go there: for what can be dragged with its data (HTML drag and drop) and
	// for what follows the pointer. Both must be actionable first, as for
	// Click, and an error says what kept them. Drop tells what came of it.
	Drag(ctx context.Context, tab TabID, from, to Target, opts *ActionOptions) (*Drag, error)
	// Mouse sends one input at a place of the viewport. It returns ErrBadArgs
	// for a place outside of it and ErrPolicyDenied for one in a frame that
	// may not be acted on. A button that is pressed stays so until the same
	// one is released; when a call fails, the next action begins, the page is
	// left or the session closes, it is released.
	Mouse(ctx context.Context, tab TabID, opts MouseOptions) (*Action, error)
}

// A Drop is how a drag ended.
type Drop string

// The ends of a drag.
const (
	DropTaken   Drop = "taken"   // the page got data dropped on it
	DropRefused Drop = "refused" // data was dragged, and nothing at the place takes it
	DropPointer Drop = "pointer" // no data was dragged: the page got the events of the pointer
)

// A Drag is what [Pointer.Drag] returns.
type Drag struct {
	Drop Drop `json:"drop"`
	Changes
}

// A MouseAction is what [Pointer.Mouse] does.
type MouseAction string

// The actions of a mouse, and of a finger.
const (
	MouseMove  MouseAction = "move"
	MouseDown  MouseAction = "down"
	MouseUp    MouseAction = "up"
	MouseClick MouseAction = "click"
	MouseWheel MouseAction = "wheel"
	MouseTap   MouseAction = "tap"
)

// MouseOptions say what [Pointer.Mouse] does. All lengths are in CSS pixels,
// places count from the upper left corner of the viewport.
type MouseOptions struct {
	Action         MouseAction
	X, Y           float64
	Button         Button  // of down, up and click; default ButtonLeft
	DeltaX, DeltaY float64 // of wheel
}
