package executor

import (
	"context"
	"time"
)

// DefaultActionTimeout bounds the wait for an element to become actionable. Even with a longer
// timeout, the wait ends after 3 seconds in which nothing is in progress on the page: no request,
// no animation of the element or of an element that covers it, no change near them.
const DefaultActionTimeout = 5 * time.Second

// Actor is the part of a [Page] that acts on pages with trusted input.
//
// Each method waits until its element is attached, visible, stable, enabled and receives events at
// the action point. It returns ErrNotActionable, with the reason, if the element does not become
// actionable in time. It may also return ErrSelectorNotFound or ErrRefExpired. A method reports
// success only if the element received the event.
//
// A [Ref] is what the client last received for it: a role, a name, and the row, list item or dialog
// that the element is in. If a page reuses the element for another thing, as a virtual list does, the
// methods send nothing and return ErrRefExpired, with the old and the new name. If only the number in
// its name changed, or its name got longer, they act and the note has the new name.
type Actor interface {
	// Click clicks the target. With the left button, it taps it while a device with a touch screen is
	// emulated; see [Emulator].
	Click(ctx context.Context, target Target, opts *ClickOptions) (*Action, error)
	// Type enters text into the target: in place of its selected text if it has the focus, or else at its
	// end.
	Type(ctx context.Context, target Target, text string, opts *TypeOptions) (*Action, error)
	// Press presses a key or a chord such as "Control+Shift+ArrowLeft". It returns ErrNotActionable
	// if the focused document received no event of the key press, for example because a browser
	// dialog is open over the page.
	Press(ctx context.Context, key string, opts *PressOptions) (*Action, error)
	// Hover moves the pointer onto the target. The pointer stays there.
	Hover(ctx context.Context, target Target, opts *ActionOptions) (*Action, error)
	// Scroll scrolls the page, or the scroll container of the target. It returns ErrBadArgs if opts
	// selects neither a target nor a position nor a step.
	Scroll(ctx context.Context, opts *ScrollOptions) (*ScrollResult, error)
	// SelectOption selects the options of a <select> by value or label, and deselects all others.
	// It returns ErrBadArgs, with a list of the options, if one does not exist.
	SelectOption(ctx context.Context, target Target, values []string, opts *ActionOptions) (*Selection, error)
	// FillForm fills fields in the given order, and then submits the form if opts.Submit is set. It does
	// not submit the form, and returns ErrNotActionable, if a field has lost its text by then, as a
	// combobox does that accepts only its options. An error names the field that failed and those that
	// were filled.
	FillForm(ctx context.Context, fields []Field, opts *FillOptions) (*FillResult, error)
	// HandleDialog answers the open JavaScript dialog; a nil answer dismisses it. It returns ErrBadArgs
	// if no dialog is open.
	HandleDialog(ctx context.Context, answer *DialogAnswer) (*DialogResult, error)
}

// ActionOptions are the options that all actions have in common.
type ActionOptions struct {
	Timeout time.Duration // default DefaultActionTimeout
}

// A Button is a mouse button.
type Button string

// The buttons. The zero value means ButtonLeft.
const (
	ButtonLeft   Button = "left"
	ButtonRight  Button = "right"
	ButtonMiddle Button = "middle"
)

// A Modifier is a modifier key.
type Modifier string

// The modifier keys.
const (
	ModAlt     Modifier = "Alt"
	ModControl Modifier = "Control"
	ModMeta    Modifier = "Meta"
	ModShift   Modifier = "Shift"
)

// ClickOptions are the options of [Actor.Click].
type ClickOptions struct {
	Button    Button // default ButtonLeft
	Count     int    // 1 to 3; 0 means 1
	Modifiers []Modifier
	Timeout   time.Duration
}

// TypeOptions are the options of [Actor.Type].
type TypeOptions struct {
	Clear      bool          // empty the field first
	PressEnter bool          // press Enter afterwards
	KeyEvents  bool          // send a key press for each character, for pages that listen to keys
	Delay      time.Duration // between the characters, all of them together at most MaxTypingDelay; implies KeyEvents
	Timeout    time.Duration // of the wait for the element
}

// MaxTypingDelay bounds the time that a call of [Actor.Type] spends between characters.
const MaxTypingDelay = 30 * time.Second

// PressOptions are the options of [Actor.Press].
type PressOptions struct {
	Target    Target // focused first; zero means the focused element
	Modifiers []Modifier
	Timeout   time.Duration
}

// ScrollOptions are the options of [Actor.Scroll], in CSS pixels. If only Target is set, it is
// scrolled into view. X and Y are an absolute position of the scroll container. DeltaX and DeltaY
// are relative. nil means no change.
type ScrollOptions struct {
	Target         Target
	X, Y           *float64
	DeltaX, DeltaY float64
	Timeout        time.Duration
}

// A ScrollResult is the scroll position after [Actor.Scroll], in CSS pixels.
type ScrollResult struct {
	OK       bool   `json:"ok"`
	X        int    `json:"x"`
	Y        int    `json:"y"`
	AtTop    bool   `json:"atTop"`
	AtBottom bool   `json:"atBottom"`
	Note     string `json:"note,omitempty"` // as in [Snapshot]
}

// A Field is a form field and its new value: a string, a bool (for a checkbox or radio button) or a
// []string (for a multiple select).
type Field struct {
	Target Target
	Value  any
}

// FillOptions are the options of [Actor.FillForm].
type FillOptions struct {
	Submit  Target // clicked at the end unless zero
	Timeout time.Duration
}

// An Action is the result of an action: what it changed on the page.
type Action struct {
	OK bool `json:"ok"`
	Changes
}

// A Selection is the result of [Actor.SelectOption].
type Selection struct {
	Selected []string `json:"selected"`         // values
	Labels   []string `json:"labels,omitempty"` // of the selected options, in the same order
	Changes
}

// A FillResult is the result of [Actor.FillForm].
type FillResult struct {
	Filled    []string `json:"filled"` // selectors and refs, as given
	Submitted bool     `json:"submitted"`
	Changes
}

// Changes are the changes that an action caused and that were known when it returned.
type Changes struct {
	URL       string     `json:"url,omitempty"`   // of the top document, if it changed
	Title     string     `json:"title,omitempty"` // if it changed
	Origin    string     `json:"origin,omitempty"`
	Dialog    *Dialog    `json:"dialog,omitempty"` // opened by the action, and open until HandleDialog
	NewTabs   []Tab      `json:"newTabs,omitempty"`
	Downloads []Download `json:"downloads,omitempty"` // downloads that the action started
	// EarlierDownloads are downloads that started before the action, and that started or ended
	// since the previous result.
	EarlierDownloads []Download `json:"earlierDownloads,omitempty"`
	// MoreDownloads is the number of downloads that are in neither list.
	MoreDownloads int      `json:"moreDownloads,omitempty"`
	Errors        []string `json:"pageErrors,omitempty"` // uncaught page errors
	Pending       int      `json:"pending,omitempty"`    // requests of the action that are still running
	Diff          string   `json:"diff,omitempty"`       // changes since this client's last snapshot: [+] added, [~] changed, [-] removed
	Snapshot      string   `json:"snapshot,omitempty"`   // full snapshot, with AfterSnapshot
	Unchanged     bool     `json:"unchanged,omitempty"`  // nothing visible changed, except possibly the focus
	// Focused is the element to which the focus moved, if Unchanged. It is empty if the outline no
	// longer has an element with the focus, and nil if the focus did not move.
	Focused  *Candidate `json:"focused,omitempty"`
	Obstacle *Obstacle  `json:"obstacle,omitempty"` // new obstacle since the page was last read
	Note     string     `json:"note,omitempty"`     // such as "3 elements match; the first visible one was used"
}

// AfterAction selects what an action reports about the page.
type AfterAction string

// The values of AfterAction. The zero value means AfterDiff.
const (
	AfterDiff     AfterAction = "diff"     // the changes since the last snapshot
	AfterSnapshot AfterAction = "snapshot" // a full snapshot
	AfterNone     AfterAction = "none"     // neither
)

// A DialogType is the type of a JavaScript dialog.
type DialogType string

// The types of dialog.
const (
	DialogAlert        DialogType = "alert"
	DialogConfirm      DialogType = "confirm"
	DialogPrompt       DialogType = "prompt"
	DialogBeforeUnload DialogType = "beforeunload"
	DialogUnknown      DialogType = "unknown" // the dialog opened before we attached to the tab
)

// A Dialog is an open JavaScript dialog. Message and DefaultPrompt are page text.
type Dialog struct {
	Type          DialogType `json:"type"`
	Message       string     `json:"message"`
	DefaultPrompt string     `json:"defaultPrompt,omitempty"`
}

// A DialogAnswer answers a dialog.
type DialogAnswer struct {
	Accept     bool
	PromptText string // for an accepted prompt dialog
}

// A DialogResult is the result of [Actor.HandleDialog].
type DialogResult struct {
	Type    DialogType `json:"type"`
	Message string     `json:"message"`
	Handled bool       `json:"handled"`
	Changes
}
