package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// actionabilityOptions are the ActionabilityOptions of js/actionability.js.
type actionabilityOptions struct {
	Hit      *bool `json:"hit,omitempty"`
	Editable bool  `json:"editable,omitempty"`
	Field    bool  `json:"-"` // wait for the field that the element represents: see fieldOf in js/fields.js
	// Entry, if not nil, starts the text entry when the field accepts text.
	Entry   *entryStart `json:"entry,omitempty"`
	Timeout int64       `json:"timeout"` // milliseconds
	// Patience is how long, in milliseconds, an actionability failure must last, with nothing in
	// progress, before the script returns it.
	Patience int64 `json:"patience"`
	Retried  bool  `json:"retried"` // the script has returned such a failure before
	// Elsewhere is how long, in milliseconds, changes elsewhere in the document count as something
	// in progress.
	Elsewhere int64 `json:"elsewhere"`
	// Selector is the selector that found the element, or "" for a ref. While the element is not
	// visible, another match of the selector may become visible.
	Selector string `json:"selector,omitempty"`
}

// actionabilityResult is the actionPoint or the ActionabilityFailure of js/actionability.js.
type actionabilityResult struct {
	OK           bool                       `json:"ok"`
	X            float64                    `json:"x"`
	Y            float64                    `json:"y"`
	Pinch        [2]float64                 `json:"pinch"`
	MayHaveMoved bool                       `json:"mayHaveMoved"`
	Frame        int                        `json:"frame"`
	Problem      string                     `json:"problem"`
	Detail       string                     `json:"detail"`
	Busy         bool                       `json:"busy"`
	Info         *fieldInfo                 `json:"info"`
	ByClick      bool                       `json:"byClick"` // see waitEditable in js/fields.js
	Entry        *focusResult               `json:"entry"`
	By           *elements.DescribedElement `json:"by"`
}

// An actionPoint is a point of the tab's viewport, in CSS pixels. While it is computed, x and y are
// relative to the viewport of the last document in path.
type actionPoint struct {
	x, y float64
	path []*frames.Document // from the element's document to the top document
	// inner is the same point in the viewport of the element's own document.
	inner [2]float64
	// frame is the document of the frame that the point is in, if the element is an iframe or has
	// one at the point. That document receives the events.
	frame *frames.Document
	// mayHaveMoved means that the browser may route input by a layout in which the element is
	// elsewhere: the element or a frame around it was scrolled, or was not known to be stable before
	// the wait, or is in an out-of-process iframe.
	mayHaveMoved bool
	// field describes the field, if Field was set.
	field *fieldInfo
	// entry is the result of the start of the text entry, if it was started.
	entry *focusResult
}

// waitActionable waits until el is actionable and returns the action point in the tab's viewport.
// It returns ErrNotActionable with the reason if el does not become actionable before the deadline
// of ctx, or if the failure persists for Timing.Actionability with nothing in progress.
func (a *Actor) waitActionable(ctx context.Context, el *element, opts actionabilityOptions) (*actionPoint, error) {
	giveUpAt, ok := ctx.Deadline()
	if !ok {
		giveUpAt = time.Now().Add(executor.DefaultActionTimeout)
	}
	limits := a.timing
	ctx, cancel := deadline.Extend(ctx, limits.Script)
	defer cancel()
	opts.Patience, opts.Elsewhere, opts.Selector = limits.Actionability.Milliseconds(), limits.ChangesElsewhere.Milliseconds(), el.Selector
	for lastBusyAt := time.Now(); ; {
		// The page script ends in time and returns the reason.
		opts.Timeout = max(time.Until(giveUpAt).Milliseconds(), 50)
		point, failure, err := a.awaitActionPoint(ctx, el, opts)
		switch {
		case errors.Is(err, frames.ErrDocumentGone), failure != nil && failure.Problem == "gone":
			return nil, a.finder.RemovedBeforeActionError(ctx, el.Element)
		case err != nil:
			return nil, frames.TimeoutAs(err, "the element to become actionable")
		case failure == nil:
			return point, nil
		}
		if failure.Busy {
			lastBusyAt = time.Now()
		}
		checkAgain := failure.mayPass && time.Since(lastBusyAt) < limits.Actionability
		if !checkAgain && failure.Problem != optionOfCollapsedList && a.opts.Inflight.Since(0) > 0 && a.pause(ctx) {
			checkAgain = true
			opts.Patience, opts.Retried = limits.RequestActionability.Milliseconds(), true
		}
		if !checkAgain || time.Until(giveUpAt) < limits.Recheck {
			return nil, a.notActionable(ctx, el, failure)
		}
	}
}

// optionOfCollapsedList is the failure of an option whose list shows only its selected option. Nothing
// in progress in the page resolves it.
const optionOfCollapsedList = "collapsed list"

// An actionabilityFailure is the reason why an element is not actionable.
type actionabilityFailure struct {
	actionabilityResult
	doc     *frames.Document // the document in which the failure was found
	mayPass bool             // the failure is in a document above the element's, whose check did not wait: check again
}

// awaitActionPoint waits in the page for el to become actionable, and computes the action point.
// It returns either the point, or the failure that is left after opts.Timeout or opts.Patience.
func (a *Actor) awaitActionPoint(ctx context.Context, el *element, opts actionabilityOptions) (*actionPoint, *actionabilityFailure, error) {
	var result actionabilityResult
	script := "waitActionable"
	if opts.Field {
		script = "waitEditable"
	}
	if err := a.finder.Call(ctx, el.Element, &result, script, el.ID, opts); err != nil {
		return nil, nil, err
	}
	if result.ByClick {
		return &actionPoint{field: result.Info}, nil, nil
	}
	if !result.OK {
		return nil, &actionabilityFailure{actionabilityResult: result, doc: el.Doc}, nil
	}
	point := &actionPoint{x: result.X, y: result.Y, mayHaveMoved: result.MayHaveMoved, inner: [2]float64{result.X, result.Y}, path: []*frames.Document{el.Doc}, field: result.Info, entry: result.Entry}
	if result.Frame != 0 {
		if point.frame = a.frameAt(ctx, el.Doc, result.Frame); point.frame == nil {
			return nil, nil, frameNotReadyError("frame " + a.finder.Describe(ctx, el.Element))
		}
		if err := a.client.Check(ctx, point.frame, executor.OpAct, ""); err != nil {
			return nil, nil, err
		}
	}
	pinch := result.Pinch
	for d := el.Doc; !d.IsTop(); {
		parent, owner, err := d.FrameElement(ctx)
		if err != nil {
			return nil, nil, err
		}
		var parentResult actionabilityResult
		start := time.Now()
		if err := parent.Call(ctx, &parentResult, "toParentDocument", owner, point.x, point.y, map[string]any{"hit": opts.Hit == nil || *opts.Hit, "timeout": opts.Timeout}); err != nil {
			return nil, nil, err
		}
		if !parentResult.OK {
			failure := &actionabilityFailure{actionabilityResult: parentResult, doc: parent}
			if time.Since(start) < a.timing.ParentDocument {
				// An element that covers a frame may be about to disappear. Check again, but not
				// immediately.
				failure.mayPass = a.pause(ctx)
			}
			return nil, failure, nil
		}
		point.x, point.y, pinch = parentResult.X, parentResult.Y, parentResult.Pinch
		point.mayHaveMoved = point.mayHaveMoved || parentResult.MayHaveMoved || parent.Session != d.Session
		point.path = append(point.path, parent)
		d = parent
	}
	if point.x < 0 || point.y < 0 || math.IsNaN(point.x) || math.IsNaN(point.y) {
		return nil, &actionabilityFailure{actionabilityResult: actionabilityResult{Problem: "outside"}, doc: el.Doc}, nil
	}
	// Input coordinates are relative to the visual viewport, also on a pinch-zoomed page.
	point.x, point.y = point.x-pinch[0], point.y-pinch[1]
	return point, nil, nil
}

// notStable returns the error for an element that does not stay at its action point.
func (a *Actor) notStable(ctx context.Context, el *element) error {
	return a.notActionable(ctx, el, &actionabilityFailure{actionabilityResult: actionabilityResult{Problem: "moving"}, doc: el.Doc})
}

// notActionable returns the error for a failure of el.
func (a *Actor) notActionable(ctx context.Context, el *element, failure *actionabilityFailure) error {
	text := cmp.Or(actionabilityErrors[failure.Problem], [2]string{"cannot be scrolled into view", "Scroll its container, or make the element visible first."})
	name, what, hint := a.finder.Describe(ctx, el.Element), text[0], text[1]
	switch failure.Problem {
	case "covered", "clipped":
		what = fmt.Sprintf(what, a.describeInterceptor(ctx, failure))
	case "not editable":
		hint = cmp.Or(alternativeToTyping[failure.Detail], hint)
	}
	return &executor.Error{Code: executor.ErrNotActionable, Retryable: failure.Problem != "not editable", Err: fmt.Errorf("%s %s", name, what), Hint: hint}
}

// actionabilityErrors maps problems of elements to the message and the hint of the error. In a
// message, %s is the intercepting element.
var actionabilityErrors = map[string][2]string{
	"covered":             {"is covered by %s", "Dismiss or move the covering element first."},
	"clipped":             {"is clipped: %s receives the pointer events", "Open or scroll its container, or act on the container."},
	optionOfCollapsedList: {"is in a collapsed list", "Choose it with Page.SelectOption on the list."},
	"disabled":            {"is disabled", "Another field may have to be filled or another option chosen first."},
	"hidden":              {"is not visible", "Open its container, or take a snapshot to see the page."},
	"no box":              {"is not visible", "Open its container, or take a snapshot to see the page."},
	"moving":              {"is not stable", "Wait for the animation to end, with Page.WaitFor."},
	"read-only":           {"is read-only", "If it has a picker, such as a calendar, open that with Page.Click and choose there. Otherwise use another element to change its value."},
	"not editable":        {"does not accept text", "Click it, or use the text field that belongs to it."},
	"inert":               {"is inert", "Take a snapshot and look for an open dialog."},
	"pointer-events":      {"has pointer-events: none", "Act on the element around or behind it."},
}

// alternativeToTyping maps kinds of fields that accept no text to hints.
var alternativeToTyping = map[string]string{
	"select": "Use Page.SelectOption.",
	"check":  "Use Page.Click, or Page.FillForm with true or false.",
	"radio":  "Use Page.Click, or Page.FillForm with true.",
	"file":   "Use Page.Upload.",
}

// describeInterceptor describes the intercepting element of a failure, with a ref if its document
// may be read.
func (a *Actor) describeInterceptor(ctx context.Context, failure *actionabilityFailure) string {
	if a.client.Check(ctx, failure.doc, executor.OpRead, "") != nil {
		return failure.By.Description.String()
	}
	return a.finder.WithRef(failure.doc, *failure.By)
}
