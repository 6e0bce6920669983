package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/hitcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// A hitTargetCheck verifies which element receives input.
type hitTargetCheck struct {
	*hitcheck.Events
	actor *Actor
	el    *element
	path  []*frames.Document
	// others block the input in the other documents of the tab. nil means that they were not started.
	others   *hitcheck.OtherDocuments
	finished bool // no input follows
	// blockedIn is the document that reported that text was blocked.
	blockedIn *frames.Document
	// stopAtEnd means that end also stops the check in the page. It may, since no press is pending that
	// the check must block; it must, since the check would block the next press on another element.
	stopAtEnd bool
	maxDelay  time.Duration // see startHitTargetCheck
	before    int           // number of events that were reported before the last press was sent
}

var (
	// errTargetMoved means that, before input was sent, the element was no longer at the point at
	// which it was found.
	errTargetMoved = errors.New("the element moved")
	// errPressHadNoEffect means that a press was not sent, or that the page blocked it: another element
	// would have received it, or it arrived too late. The error of a press wraps it.
	errPressHadNoEffect = errors.New("the press had no effect")
)

// startHitTargetCheck installs listeners for the event types in el's document, and in the documents
// around it to find out who received the event if el did not.
//
// The listeners block a press that starts on another element than el, and a first press that
// arrives more than maxDelay after it was sent. A press is also blocked in the other documents of the
// tab: see [hitcheck.OtherDocuments]. presses is the number of presses to expect.
// startHitTargetCheck returns errTargetMoved if el is no longer at the point, and
// frames.ErrDocumentGone if it was removed.
func (a *Actor) startHitTargetCheck(ctx context.Context, el *element, at *actionPoint, presses int, maxDelay time.Duration, types []string) (*hitTargetCheck, error) {
	path := at.path
	if at.frame != nil {
		path = append([]*frames.Document{at.frame}, path...)
	}
	c := &hitTargetCheck{Events: hitcheck.Observe(a.tree), actor: a, el: el, path: path, stopAtEnd: true, maxDelay: maxDelay}
	if err := c.start(ctx, at, presses, types); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// start starts the check in all documents of the path. If it fails, the check runs in some of them.
func (c *hitTargetCheck) start(ctx context.Context, at *actionPoint, presses int, types []string) error {
	a, el := c.actor, c.el
	pending := make([]elements.Call, 0, len(c.path))
	if presses > 0 {
		c.others = hitcheck.BlockElsewhere(ctx, a.client, c.Token, c.path, at.frame, hitcheck.Options{Types: types, Presses: presses, Within: a.timing.Input.Milliseconds()})
	}
	for _, d := range c.path {
		want := hitcheck.Options{Types: types, Presses: presses, Late: c.maxDelay.Milliseconds(), Submits: el.submits}
		if presses > 0 {
			want.Within, want.Busy = a.timing.Input.Milliseconds(), a.timing.BusyPress.Milliseconds()
		}
		id, in := 0, &elements.Element{Doc: d}
		switch {
		case d == at.frame: // any element of the frame is accepted, because the frame is the content of the element
		case d == el.Doc:
			id, in, want.At = el.ID, el.Element, &at.inner
			if presses > 0 {
				want.Shown = el.Shown.ToCompare()
				if el.Shown == nil && el.effects != nil && !a.opts.Reader.ReportsOutline(ctx) {
					// Nothing else in the result would show how the element changes.
					want.Record, el.effects.Target = true, &elements.ShownElement{Doc: el.Doc, ID: el.ID, At: elements.LatestRecord}
				}
			}
		default:
			want.Below = true
		}
		p, err := in.Start(ctx, "startCheck", c.Token, id, want)
		if err != nil {
			return err
		}
		pending = append(pending, p)
	}
	for _, p := range pending {
		var problem string
		err := a.finder.Finish(ctx, p, &problem)
		switch {
		case err == nil && problem == "gone":
			err = frames.ErrDocumentGone
		case err == nil && problem != "":
			err = errTargetMoved
		}
		if err != nil {
			return err
		}
	}
	if c.others != nil {
		c.others.Await(ctx)
	}
	return nil
}

// startPressCheck starts the hit target check of a press at a point where el was found. If the
// pointer must first move there, the error says that no press was sent.
func (a *Actor) startPressCheck(ctx context.Context, el *element, at *actionPoint, presses int, maxDelay time.Duration, types ...string) (*hitTargetCheck, error) {
	if at.mayHaveMoved && a.tree.HasOutOfProcessFrames() {
		if err := a.movePointerWithRetry(ctx, el, at); err != nil {
			if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrNotActionable {
				e.Err, e.Retryable = errs.WithCause(e.Message()+", so no press was sent", errPressHadNoEffect), true
			}
			return nil, err
		}
	}
	a.Block(ctx)
	return a.startHitTargetCheck(ctx, el, at, presses, maxDelay, types)
}

// expirePendingPress ensures that a press that waits behind a dialog arrives too late and is
// blocked, because the call reports that it had no effect. Until then the dialog cannot be
// answered.
func (c *hitTargetCheck) expirePendingPress() {
	limit := c.maxDelay
	switch {
	case limit == 0:
		return // no press was sent
	case c.before > 0:
		limit = c.actor.timing.BusyPress
	}
	c.actor.opts.Dialogs.DelayAnswers(limit + c.actor.timing.PressDelivery/4)
}

// beginPress prepares the check for the next press. The caller calls noPressPending if it is not sent.
func (c *hitTargetCheck) beginPress() {
	c.before = len(c.Reported())
	c.stopAtEnd = false // a press that waits behind a dialog must still be blocked later
}

// noPressPending records that the page has no press left to block.
func (c *hitTargetCheck) noPressPending() { c.stopAtEnd = true }

// receivedPress reports whether the element has received the last press that was sent, so that the
// check need not block it any longer. The mouse events of a tap arrive only after its touch events.
func (c *hitTargetCheck) receivedPress(want completionCriteria) bool {
	reached, ended, _ := summarize(c.Reported()[c.before:], completionCriteria{last: want.last, times: 1})
	return ended || reached && !want.tap
}

// recheck returns ErrNotActionable if the element is no longer at the point after n of count clicks,
// and a note if no more clicks can follow.
func (c *hitTargetCheck) recheck(ctx context.Context, at *actionPoint, n, count int) (note string, err error) {
	if at.frame != nil {
		return "", nil
	}
	var hit bool
	err = c.el.Doc.Call(ctx, &hit, "isHitAt", c.el.ID, at.inner[0], at.inner[1])
	switch {
	case errors.Is(err, executor.ErrDialogOpen):
		return partialClickNote(n), nil
	case err == nil && !hit:
		return "", executor.Errorf(executor.ErrNotActionable, "Take a snapshot to see what the click did.",
			"%s was clicked %d of %d times: it is no longer at the point", c.actor.describeWithRef(ctx, c.el), n, count)
	}
	return "", nil
}

// partialClickNote is the note on clicks that were interrupted by a dialog.
func partialClickNote(n int) string {
	return "the dialog opened after " + phrase.Count(n, "click", "clicks")
}

// end stops listening to the reports. With stopAtEnd, it stops the check in the page without waiting.
func (c *hitTargetCheck) end() {
	var blocking []*frames.Document
	if c.stopAtEnd {
		blocking = slices.Clone(c.path)
	}
	if c.stopAtEnd || c.finished {
		blocking = append(blocking, c.others.All()...)
	}
	c.Stop(blocking...)
}

// completionCriteria specify what a hitTargetCheck waits for.
type completionCriteria struct {
	last  string // the type of the event that ends the input; empty if any event does
	times int    // how many of them must have arrived
	more  bool   // more input follows, so keep listening
	tap   bool   // the browser sends the click after it has confirmed the input
}

// pageBusyNote is the note on input that the page received and has not finished handling.
const pageBusyNote = "the element received the event, and the page was still busy handling it"

// wait waits until the page has handled the input. It returns ErrNotActionable if another element
// received it. done means that no more input can follow: a dialog opened, the document was
// replaced, or the page is busy.
func (c *hitTargetCheck) wait(ctx context.Context, pending []*cdpconn.Pending, want completionCriteria) (note string, done bool, err error) {
	ctx, cancel := context.WithTimeout(deadline.Caller(ctx), c.actor.timing.Input)
	defer cancel()
	d := c.path[0]
	// stopped decides from the reports alone, when the page no longer responds.
	stopped := func(err error) (string, bool, error) {
		c.stopAtEnd = c.stopAtEnd || c.receivedPress(want)
		reached, ended, _ := summarize(c.Reported(), want)
		switch {
		case errors.Is(err, executor.ErrDialogOpen): // the press opened it
			if len(c.Reported()) == c.before { // it opened before the input
				c.expirePendingPress()
				if want.times > 1 {
					return partialClickNote(want.times - 1), true, nil
				}
				return "", true, err
			}
			note, err := c.verify(ctx, hitcheck.Result{Seen: c.Reported(), Interrupted: true}, want)
			return note, true, err
		case errors.Is(err, frames.ErrDocumentGone) && want.last != "" && want.times == 1 && !reached:
			c.noPressPending() // all input has been handled
			if seen := c.Reported(); len(seen) > 0 {
				note, err := c.verify(ctx, hitcheck.Result{Seen: seen}, want)
				return note, true, err
			}
			if err := c.actor.shield.Unblock(ctx, c.actor.client); err != nil {
				return "", true, err
			}
			return "", true, documentReplacedError("press")
		case errors.Is(err, frames.ErrDocumentGone), errors.Is(err, executor.ErrTargetGone):
			return "", true, nil // the press replaced the document
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, executor.ErrTimeout):
			switch {
			case ended:
				return pageBusyNote, true, nil
			case reached:
				err = shield.WithProgress(err, "the page received the press, and may still handle it")
			}
		}
		return "", true, err
	}
	for _, p := range pending {
		if err := d.Wait(ctx, p, nil); err != nil {
			return stopped(err)
		}
	}
	if want.tap {
		if err := c.awaitTap(ctx, want); err != nil {
			return stopped(err)
		}
	}
	if c.el.effects != nil && !want.more {
		c.el.effects.Handled(ctx)
	}
	var got hitcheck.Result
	if err := d.Call(ctx, &got, "finishCheck", c.Token, want.more); err != nil {
		return stopped(err)
	}
	c.stopAtEnd, c.finished = want.more, !want.more
	for _, up := range c.path[1:] {
		var above hitcheck.Result
		if err := up.Call(ctx, &above, "finishCheck", c.Token, want.more); err == nil {
			for _, e := range above.Seen {
				e.OK, e.Doc = e.OK && up == c.el.Doc, up
				got.Seen = append(got.Seen, e)
			}
		}
	}
	if _, ended, _ := summarize(got.Seen, want); !ended || want.last == "" {
		got.Seen = append(got.Seen, c.others.Finish(ctx, want.more)...)
	}
	if e := c.el.effects; e != nil {
		e.File, e.Invalid = got.File && want.last == "click", len(got.Invalid) > 0
	}
	note, err = c.verify(ctx, got, want)
	return phrase.Notes(note, invalidNote(got.Invalid)), false, err
}

// awaitTap waits until the click of a tap has arrived, or the page has prevented it.
func (c *hitTargetCheck) awaitTap(ctx context.Context, want completionCriteria) error {
	limit, cancel := context.WithTimeout(ctx, c.actor.timing.TapClick)
	defer cancel()
	for d := c.path[0]; ; {
		_, ended, other := summarize(c.Reported(), want)
		if ended || other != nil {
			return nil
		}
		var got hitcheck.Result
		err := d.Call(limit, &got, "finishCheck", c.Token, true)
		switch {
		case limit.Err() != nil && ctx.Err() == nil:
			return nil
		case err != nil:
			return err
		case got.TapEnded:
			return nil
		}
		c.actor.pause(limit)
	}
}

// summarize reports whether the element received any of the events, and whether it received all
// events that end the input. other is the last event that another element received, or nil.
func summarize(events []hitcheck.Event, want completionCriteria) (reached, ended bool, other *hitcheck.Event) {
	last := 0
	for i, e := range events {
		switch {
		case e.OK:
			reached = true
			if e.Type == want.last {
				last++
			}
		case e.By != nil:
			other = &events[i]
		}
	}
	return reached, reached && (want.last == "" || last >= want.times), other
}

// pressNotes are the notes about presses that did not result in a click, by what the page did with
// the element before the button was released.
var pressNotes = map[string]string{
	"removed": "the press removed the element, so it received no click",
	"hidden":  "the press hid the element, so it received no click",
	"moved":   "the press moved the element, so it received no click",
	"covered": "the press covered the element, so it received no click",
}

// verify decides from the events that were reported. A missing last event is accepted when the
// press explains it: the action point no longer hits the element, or a dialog opened.
func (c *hitTargetCheck) verify(ctx context.Context, got hitcheck.Result, want completionCriteria) (note string, err error) {
	reached, ended, other := summarize(got.Seen, want)
	blocked := other != nil && other.Prevented // text was blocked, although its keys may have arrived
	late := slices.ContainsFunc(got.Seen, func(e hitcheck.Event) bool { return e.Late })
	if at := slices.IndexFunc(got.Seen, func(e hitcheck.Event) bool { return e.Change != nil }); at >= 0 {
		return "", c.actor.finder.OtherThingError(ctx, c.el.Shown, got.Seen[at].Change)
	}
	switch {
	case !blocked && ended, reached && got.Interrupted:
		return "", nil
	case !blocked && reached && got.Left != "" && want.times <= 1 && !want.more:
		return pressNotes[got.Left], nil
	case !blocked && reached && got.TapEnded:
		return "", nil // the page handled the touch events
	}
	e := &executor.Error{Code: executor.ErrNotActionable, Hint: "Take a snapshot before trying again."}
	a := c.actor
	name := a.describeWithRef(ctx, c.el)
	switch {
	case other != nil:
		by := a.finder.WithRef(cmp.Or(other.Doc, c.el.Doc), *other.By)
		if c.others.Has(other.Doc) {
			by += " in " + documentName(other.Doc)
		}
		switch {
		case other.Prevented && want.last == "":
			c.blockedIn = other.Doc
			e.Err = fmt.Errorf("%s took the focus from %s; the text was blocked", by, name)
		case other.Prevented && reached:
			e.Err = fmt.Errorf("%s covered %s after %s; the next click was blocked", by, name, phrase.Count(want.times-1, "click", "clicks"))
		case other.Prevented:
			e.Err = errs.WithCause(fmt.Sprintf("%s covered %s before the press, which was blocked", by, name), errPressHadNoEffect)
			e.Retryable = true
		default:
			e.Err = fmt.Errorf("%s received the %s intended for %s", by, other.Type, name)
		}
	case late && reached:
		e.Err = fmt.Errorf("the page was busy for too long after %s on %s; the next click was blocked", phrase.Count(max(want.times-1, 0), "click", "clicks"), name)
	case late:
		e.Err = errs.WithCause(fmt.Sprintf("the page was busy for too long before %s could receive the press, which was blocked", name), errPressHadNoEffect)
		e.Retryable = true
	case reached && got.Left == "removed":
		e.Err = fmt.Errorf("%s was removed from the page after %s", name, phrase.Count(max(want.times-1, 0), "click", "clicks"))
	case reached && got.Disabled:
		e.Err = fmt.Errorf("%s did not receive the %s: the press disabled it", name, want.last)
	case reached:
		e.Err = fmt.Errorf("%s received the press but not the %s", name, want.last)
	case len(got.Seen) == 0 && c.mayBeElsewhere(ctx):
		e.Err = fmt.Errorf("%s did not receive the event: the browser blocked it, or a frame that the page moved there received it", name)
	case len(got.Seen) == 0:
		return "", inputNotReceivedError(fmt.Sprintf("%s did not receive the event", name))
	default:
		e.Err = fmt.Errorf("%s did not receive the event", name)
	}
	return "", e
}

// mayBeElsewhere reports whether another document than those of the check may have received the input: one
// that loaded since, or that did not respond.
func (c *hitTargetCheck) mayBeElsewhere(ctx context.Context) bool {
	if c.others == nil {
		return false // input without a press is not blocked elsewhere
	}
	if c.others.Late {
		return true
	}
	for _, d := range c.actor.tree.Documents() {
		observed := func(o *frames.Document) bool { return o.World == d.World }
		if !slices.ContainsFunc(c.path, observed) && !slices.ContainsFunc(c.others.All(), observed) && shield.MayReach(ctx, c.actor.client, d) {
			return true
		}
	}
	return false
}
