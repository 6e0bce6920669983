package page

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A hitTargetCheck learns from the page who got the input.
type hitTargetCheck struct {
	v     *View
	el    *element
	path  []*document
	token string
	err   error // of sending
	// blocksOtherInput: it holds back what is not for the element, until its end
	blocksOtherInput bool
	// listens means that the confirmation listens for keys in path until its end
	listens bool
	late    time.Duration // see expectation
	before  int           // events that were reported before the newest press was sent

	mu   sync.Mutex
	seen []observedEvent
}

// A hitTargetOptions is js/hit_target_check.js's Expected.
type hitTargetOptions struct {
	Types   []string    `json:"types"`
	At      *[2]float64 `json:"at,omitempty"`
	Presses int         `json:"presses,omitempty"`
	Late    int64       `json:"late,omitempty"`
	Submits bool        `json:"submits,omitempty"`
	Text    bool        `json:"text,omitempty"`
	Below   bool        `json:"below,omitempty"`
}

// errTargetMoved is returned when, before input was sent, the element was no longer
// where it was found, and errInputBlocked wraps the error for a press that was
// kept from the page because something else would have got it.
var (
	errTargetMoved  = errors.New("the element moved away")
	errInputBlocked = errors.New("no press was sent")
)

// An observedEvent is js/hit_target_check.js's record of one event.
type observedEvent struct {
	Type string `json:"type"`
	OK   bool   `json:"ok"`
	By   *struct {
		ID int `json:"id"`
		refDescription
	} `json:"by"`
	Blocked bool `json:"held"` // it was held back, so that it had no effect
	Late    bool `json:"late"` // because it came too late
	doc     *document
}

// startHitTargetCheck installs listeners for the event types in el's document, and in
// those above it to learn who got the event when el did not.
//
// A press that begins on anything but el is kept from the page: presses are
// how many there will be. So is a first press that comes more than late after
// it was sent. It returns errTargetMoved when el is no longer at the point, and
// errDocumentDetached when it is gone.
func (v *View) startHitTargetCheck(ctx context.Context, el *element, at *actionPoint, presses int, late time.Duration, types []string) (*hitTargetCheck, error) {
	path := at.path
	if at.frame != nil {
		path = append([]*document{at.frame}, path...)
	}
	c := v.newHitTargetCheck(el, path)
	c.late = late
	var pending []*cdpconn.Pending
	for _, d := range path {
		want := hitTargetOptions{Types: types, Presses: presses, Late: late.Milliseconds(), Submits: el.submits}
		id := 0
		switch {
		case d == at.frame: // anything in the frame counts: it is what the element shows there
		case d == el.doc:
			id, want.At = el.id, &at.inner
		default:
			want.Below = true
		}
		p, err := d.start(ctx, "startCheck", c.token, id, want)
		if err != nil {
			c.end()
			return nil, err
		}
		pending = append(pending, p)
	}
	for i, p := range pending {
		var problem string
		err := path[i].finish(ctx, p, &problem)
		switch {
		case err == nil && problem == "gone":
			err = errDocumentDetached
		case err == nil && problem != "":
			err = errTargetMoved
		}
		if err != nil {
			c.end()
			return nil, err
		}
	}
	return c, nil
}

// hitTargetCheck returns one that collects what is reported by its token. The
// caller ends it.
func (v *View) newHitTargetCheck(el *element, path []*document) *hitTargetCheck {
	c := &hitTargetCheck{v: v, el: el, path: path, token: rand.Text()}
	v.tab.subscribe(c.token, func(payload []byte) {
		var e observedEvent
		if json.Unmarshal(payload, &e) == nil {
			c.mu.Lock()
			c.seen = append(c.seen, e)
			c.mu.Unlock()
		}
	})
	return c
}

// subscribe has f called, not concurrently, with what the tab's scripts report under
// a token, until unhear.
func (t *Tab) subscribe(token string, f func(payload []byte)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reports[token] = f
}

func (t *Tab) unsubscribe(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.reports, token)
}

// pressDeliveryTimeout is how long the browser and the page may take to bring a press to
// its element before it is held back and sent anew, and busyPageTimeout how long the
// press that was sent anew may take: pages can be that slow. Both are less than
// a press is waited for, so none arrives that was reported as failed.
const (
	pressDeliveryTimeout = 300 * time.Millisecond
	busyPageTimeout      = inputTimeout - time.Second
)

// expirePendingPress sees to it that a press which waits behind a dialog comes late, and
// is held back: its caller hears that it was not done.
func (c *hitTargetCheck) expirePendingPress() {
	limit := c.late
	switch {
	case limit == 0:
		return // there is no press
	case c.before > 0:
		limit = busyPageTimeout
	}
	t := c.v.tab
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dialogAnswerableAt = time.Now().Add(limit + pressDeliveryTimeout/4)
}

// partialClickNote is the note on clicks that a dialog ended.
func partialClickNote(n int) string {
	return fmt.Sprintf("it was clicked only %d times when the dialog opened", n)
}

func (c *hitTargetCheck) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// end stops listening to the reports. What still holds input back in the page
// is taken away, without waiting.
func (c *hitTargetCheck) end() {
	if c.blocksOtherInput || c.listens {
		for _, d := range c.path {
			if d.current() {
				d.start(context.Background(), "finishCheck", c.token, false)
			}
		}
	}
	c.v.tab.unsubscribe(c.token)
}

// completionCriteria is what a confirmation waits for.
type completionCriteria struct {
	last  string // the type of the event that ends the input; empty when any event will do
	times int    // how many of them must have come
	more  bool   // input is to follow, so go on listening
}

// A hitTargetResult is what js/hit_target_check.js's outcome returns.
type hitTargetResult struct {
	Seen     []observedEvent `json:"seen"`
	Left     string          `json:"left"`     // js/hit_target_check.js's Departure of the element, a key of pressNotes
	Disabled bool            `json:"disabled"` // the element is disabled now
	File     bool            `json:"file"`     // the element is in a link to a download
	// Invalid are the fields that kept a form from being sent.
	Invalid []invalidField `json:"invalid"`
	// interrupted: a dialog opened while the input was handled
	interrupted bool
}

// An invalidField is a field whose value the browser does not send.
type invalidField struct {
	refDescription
	Message pagetext.Text `json:"message"`
}

// invalidNote is the note on fields that kept a form from being sent.
func invalidNote(fields []invalidField) string {
	var list []string
	for _, f := range fields {
		list = append(list, fmt.Sprintf("%s (%s)", f.refDescription, f.Message))
	}
	if len(list) == 0 {
		return ""
	}
	return "the form was not sent; invalid fields: " + strings.Join(list, ", ")
}

// pageBusyNote is the note on input that arrived at a page which did not get
// done with it.
const pageBusyNote = "the element got the event, and the page was still busy with it"

// wait waits until the page has handled the input, and returns
// ErrNotActionable if something else got it. done tells that no more input
// can follow: a dialog opened, the page left or is busy.
func (c *hitTargetCheck) wait(ctx context.Context, pending []*cdpconn.Pending, want completionCriteria) (note string, done bool, err error) {
	if c.err != nil {
		return "", false, c.err
	}
	ctx, cancel := context.WithTimeout(parentContext(ctx), inputTimeout)
	defer cancel()
	d := c.path[0]
	// stopped judges from the reports alone, when the page answers no more.
	stopped := func(err error) (string, bool, error) {
		switch {
		case errors.Is(err, executor.ErrDialogOpen): // the press opened it
			if len(c.reported()) == c.before { // it came before the input
				c.expirePendingPress()
				if want.times > 1 {
					return partialClickNote(want.times - 1), true, nil
				}
				return "", true, err
			}
			note, err := c.verify(ctx, hitTargetResult{Seen: c.reported(), interrupted: true}, want)
			return note, true, err
		case errors.Is(err, errDocumentDetached), errors.Is(err, executor.ErrTargetGone):
			return "", true, nil // the press ended the document
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, executor.ErrTimeout):
			if _, ended, _ := summarize(c.reported(), want); ended {
				return pageBusyNote, true, nil
			}
		}
		return "", true, err
	}
	for _, p := range pending {
		if err := d.wait(ctx, p, nil); err != nil {
			return stopped(err)
		}
	}
	if c.el.watch != nil && !want.more {
		c.el.watch.begin(ctx)
	}
	var got hitTargetResult
	if err := d.call(ctx, &got, "finishCheck", c.token, want.more); err != nil {
		return stopped(err)
	}
	c.blocksOtherInput = c.blocksOtherInput && want.more
	for _, up := range c.path[1:] {
		var above hitTargetResult
		if err := up.call(ctx, &above, "finishCheck", c.token, want.more); err == nil {
			for _, e := range above.Seen {
				e.OK, e.doc = e.OK && up == c.el.doc, up
				got.Seen = append(got.Seen, e)
			}
		}
	}
	if w := c.el.watch; w != nil {
		w.file, w.invalid = got.File && want.last == "click", len(got.Invalid) > 0
	}
	note, err = c.verify(ctx, got, want)
	return joinNotes(note, invalidNote(got.Invalid)), false, err
}

// reported returns the events that were reported as they happened.
func (c *hitTargetCheck) reported() []observedEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

// summarize tells whether the element got any of the events, whether it got all
// that end the input, and which other one got an event.
func summarize(events []observedEvent, want completionCriteria) (reached, ended bool, other *observedEvent) {
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

// pressNotes are the notes about presses that did not result in a click, by what
// the page did with the element before the button was released.
var pressNotes = map[string]string{
	"removed": "the press removed the element, so it got no click",
	"hidden":  "the press hid the element, so it got no click",
	"moved":   "the press moved the element, so it got no click",
}

// verify decides from the events that were reported. A missing last event is
// accepted when the press explains it: the element is no longer at the action
// point, or a dialog opened.
func (c *hitTargetCheck) verify(ctx context.Context, got hitTargetResult, want completionCriteria) (note string, err error) {
	reached, ended, other := summarize(got.Seen, want)
	held := other != nil && other.Blocked // the text itself, though keys may have arrived
	late := slices.ContainsFunc(got.Seen, func(e observedEvent) bool { return e.Late })
	switch {
	case !held && ended, reached && got.interrupted:
		return "", nil
	case !held && reached && got.Left != "" && want.times <= 1 && !want.more:
		return pressNotes[got.Left], nil
	}
	e := &executor.Error{Code: executor.ErrNotActionable, Hint: "Take a snapshot before trying again."}
	v := c.v
	name := v.describeWithRef(ctx, c.el)
	switch {
	case other != nil:
		doc := cmp.Or(other.doc, c.el.doc)
		by := fmt.Sprintf("%s [ref=%s]", other.By.refDescription, c.v.refFor(doc.world, other.By.ID, other.By.refDescription))
		switch {
		case other.Blocked && want.last == "":
			e.Err = fmt.Errorf("%s took the focus from %s; the text was blocked", by, name)
		case other.Blocked && reached:
			e.Err = fmt.Errorf("%s covered %s after %d clicks; the next click was blocked", by, name, want.times-1)
		case other.Blocked:
			e.Err = fmt.Errorf("%s covered %s before the press, so %w", by, name, errInputBlocked)
			e.Retryable = true
		default:
			e.Err = fmt.Errorf("%s received the %s intended for %s", by, other.Type, name)
		}
	case late && reached:
		e.Err = fmt.Errorf("the page was busy for long after %d of the clicks on %s; the next was held back", max(want.times-1, 0), name)
	case late:
		e.Err = fmt.Errorf("the page was busy for too long before %s could get the press, so %w", name, errInputBlocked)
		e.Retryable = true
	case reached && got.Left == "removed":
		e.Err = fmt.Errorf("%s left the page after %d of its clicks", name, max(want.times-1, 0))
	case reached && got.Disabled:
		e.Err = fmt.Errorf("%s did not receive the %s: the press disabled it", name, want.last)
	case reached:
		e.Err = fmt.Errorf("%s received the press but not the %s", name, want.last)
	case len(got.Seen) == 0:
		return "", v.inputNotReceived(fmt.Sprintf("%s did not receive the event", name))
	default:
		e.Err = fmt.Errorf("%s did not receive the event", name)
	}
	return "", e
}
