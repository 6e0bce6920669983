package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// aimOptions are js/aim.js's AimOptions.
type aimOptions struct {
	Hit      *bool `json:"hit,omitempty"`
	Editable bool  `json:"editable,omitempty"`
	Field    bool  `json:"-"` // the field that the element stands for is meant
	// Entry: once a field that takes text can be acted on, its entry begins.
	Entry   *entryStart `json:"entry,omitempty"`
	Timeout int64       `json:"timeout"` // milliseconds
	// Patience is how long, in milliseconds, an actionability failure must last,
	// with nothing in progress, before the script returns it. Again means that
	// the script returned one before.
	Patience int64 `json:"patience"`
	Again    bool  `json:"again"`
	// Selector is what the element was found by, "" for a ref: while it is
	// not visible, another that matches may become so.
	Selector string `json:"selector,omitempty"`
}

// aimed is js/aim.js's Aimed or Obstacle.
type aimed struct {
	OK      bool       `json:"ok"`
	X       float64    `json:"x"`
	Y       float64    `json:"y"`
	Pinch   [2]float64 `json:"pinch"`
	Moved   bool       `json:"moved"`
	Frame   int        `json:"frame"`
	Problem string     `json:"problem"`
	Detail  string     `json:"detail"`
	Busy    bool       `json:"busy"`
	Info    *fieldInfo `json:"info"`
	Entry   *focused   `json:"entry"`
	By      *struct {
		ID int `json:"id"`
		label
	} `json:"by"`
}

// A point is a place in the tab's viewport, in CSS pixels, on the way from
// the top document down to the element's own.
type point struct {
	x, y float64
	path []*document // from the element's document up to the top one
	// inner is the same place in the viewport of the element's own document.
	inner [2]float64
	// frame is the document of the frame that the point is in, when the
	// element is an iframe or has one there: that gets the event.
	frame *document
	// moved: what is at the point was not there all along.
	moved bool
	// field tells about the field that was aimed at, if one was asked for.
	field *fieldInfo
	// entry tells how the entry of text began, if it did.
	entry *focused
}

const (
	// obstaclePatience is how long an actionability failure must last, with
	// nothing in progress, before aim stops waiting. Overlays and validations
	// often end with a timer, which cannot be observed.
	obstaclePatience = 3 * time.Second
	// requestPatience is how long the page may take, while requests are in
	// flight, to end an actionability failure after one of them has ended.
	requestPatience = 500 * time.Millisecond
)

// aim waits until el is actionable and returns the action point in the tab's
// viewport. It returns ErrNotActionable, with the reason, if el does not become
// actionable before the deadline of ctx, or within obstaclePatience while nothing
// is in progress.
func (v *View) aim(ctx context.Context, el *element, opts aimOptions) (*point, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(executor.DefaultActionTimeout)
	}
	ctx, cancel := extend(ctx, answerGrace)
	defer cancel()
	opts.Patience, opts.Selector = obstaclePatience.Milliseconds(), el.selector
	for quiet := time.Now(); ; {
		// It is the page script that gives up in time, and says why.
		opts.Timeout = max(time.Until(deadline).Milliseconds(), 50)
		p, problem, err := v.aimOnce(ctx, el, opts)
		switch {
		case errors.Is(err, errDocumentGone), problem != nil && problem.Problem == "gone":
			return nil, v.vanished(ctx, el)
		case err != nil:
			return nil, timeoutAs(err, "the element to become actionable")
		case problem == nil:
			return p, nil
		}
		if problem.Busy {
			quiet = time.Now()
		}
		again := problem.retry && time.Since(quiet) < obstaclePatience
		if !again && v.tab.loading() && v.pause(ctx) {
			again = true
			opts.Patience, opts.Again = requestPatience.Milliseconds(), true
		}
		if !again || time.Until(deadline) < 300*time.Millisecond {
			return nil, v.notActionable(ctx, el, problem)
		}
	}
}

// An obstacle is what kept an element from being acted on.
type obstacle struct {
	aimed
	doc   *document // that the obstacle is in
	retry bool      // another look may help: it was met above the element's own document
}

func (v *View) aimOnce(ctx context.Context, el *element, opts aimOptions) (*point, *obstacle, error) {
	var a aimed
	script := "aim"
	if opts.Field {
		script = "approach"
	}
	if err := el.doc.call(ctx, &a, script, el.id, opts); err != nil {
		return nil, nil, err
	}
	if a.Problem == "click" {
		return &point{field: a.Info}, nil, nil // the click will aim for itself
	}
	if !a.OK {
		return nil, &obstacle{aimed: a, doc: el.doc}, nil
	}
	p := &point{x: a.X, y: a.Y, moved: a.Moved, inner: [2]float64{a.X, a.Y}, path: []*document{el.doc}, field: a.Info, entry: a.Entry}
	if a.Frame != 0 {
		if p.frame = v.frameAt(ctx, el.doc, a.Frame); p.frame == nil {
			return nil, nil, executor.Errorf(executor.ErrNotActionable, "Act on an element inside the frame.",
				"%s is a frame whose document is not known", v.describe(ctx, el))
		}
		if err := v.check(ctx, p.frame, executor.OpAct, ""); err != nil {
			return nil, nil, err
		}
	}
	pinch := a.Pinch
	for d := el.doc; !d.top(); {
		parent, err := d.parentDocument(ctx)
		if err != nil {
			return nil, nil, err
		}
		owner, err := d.owner(ctx, parent)
		if err != nil {
			return nil, nil, err
		}
		var up aimed
		start := time.Now()
		if err := parent.call(ctx, &up, "through", owner, p.x, p.y, map[string]any{"hit": opts.Hit == nil || *opts.Hit, "timeout": opts.Timeout}); err != nil {
			return nil, nil, err
		}
		if !up.OK {
			// What covers a frame may be about to go: look again, but not in a rush.
			return nil, &obstacle{aimed: up, doc: parent, retry: time.Since(start) < time.Second && v.pause(ctx)}, nil
		}
		p.x, p.y, pinch = up.X, up.Y, up.Pinch
		p.moved = p.moved || up.Moved || parent.sess != d.sess
		p.path = append(p.path, parent)
		d = parent
	}
	if p.x < 0 || p.y < 0 || math.IsNaN(p.x) || math.IsNaN(p.y) {
		return nil, &obstacle{aimed: aimed{Problem: "outside"}, doc: el.doc}, nil
	}
	// Input counts from the corner of what a pinched page shows.
	p.x, p.y = p.x-pinch[0], p.y-pinch[1]
	return p, nil, nil
}

// frameAt returns the document of the frame in the element with a number,
// nil when it is not known.
func (v *View) frameAt(ctx context.Context, parent *document, id int) *document {
	for _, d := range v.tab.documents() {
		if d.parent != parent.frame {
			continue
		}
		if owner, err := d.owner(ctx, parent); err == nil && owner == id {
			return d
		}
	}
	return nil
}

// pause waits for two animation frames or so of the top document. It reports
// whether it could.
func (v *View) pause(ctx context.Context) bool {
	d, err := v.tab.document(ctx)
	return err == nil && d.call(ctx, nil, "rest", "", restOptions{}) == nil
}

// notActionable says what is in the way.
func (v *View) notActionable(ctx context.Context, el *element, o *obstacle) error {
	name := v.describe(ctx, el)
	e := &executor.Error{Code: executor.ErrNotActionable, Retryable: true}
	switch o.Problem {
	case "covered":
		e.Err = fmt.Errorf("%s is covered by %s", name, v.inTheWay(ctx, o))
		e.Hint = "Dismiss or move what covers it first."
	case "clipped":
		e.Err = fmt.Errorf("%s is clipped or covered by a part of what it is in: %s gets the events at its place", name, v.inTheWay(ctx, o))
		e.Hint = "Open or scroll what contains it, or act on that."
	case "folded":
		e.Err = fmt.Errorf("%s is in a list that is folded", name)
		e.Hint = "Choose it with select_option on the list."
	case "disabled":
		e.Err = fmt.Errorf("%s is disabled", name)
		e.Hint = "Something else may have to be filled in or chosen first."
	case "hidden", "no box":
		e.Err = fmt.Errorf("%s is not visible", name)
		e.Hint = "Open what contains it, or take a snapshot to see what is there."
	case "moving":
		e.Err = fmt.Errorf("%s does not stop moving", name)
		e.Hint = "Wait for the animation to end, with wait_for."
	case "read-only":
		e.Err = fmt.Errorf("%s is read-only", name)
		e.Hint = "Use another element to change its value."
	case "not editable":
		e.Err = fmt.Errorf("%s does not take text", name)
		e.Hint = cmp.Or(insteadOfTyping[o.Detail], "Click it, or use the text field that belongs to it.")
		e.Retryable = false
	case "inert":
		e.Err = fmt.Errorf("%s is inert: the page has put it out of use for now", name)
		e.Hint = "Look for what is open in front of it, such as a dialog, with snapshot."
	case "pointer-events":
		e.Err = fmt.Errorf("%s lets pointer events through (pointer-events: none)", name)
		e.Hint = "Act on the element around or behind it."
	default:
		e.Err = fmt.Errorf("%s cannot be scrolled into view", name)
		e.Hint = "Scroll what contains it, or make it visible first."
	}
	return e
}

// insteadOfTyping says what to use for a field that takes no text.
var insteadOfTyping = map[string]string{
	"select": "Use select_option.",
	"check":  "Use click, or fill_form with true or false.",
	"radio":  "Use click, or fill_form with true.",
	"file":   "Use upload_file, where the user has allowed it.",
}

// inTheWay names the element of an obstacle, with a ref when its document may
// be read.
func (v *View) inTheWay(ctx context.Context, o *obstacle) string {
	if v.check(ctx, o.doc, executor.OpRead, "") != nil {
		return o.By.label.String()
	}
	return fmt.Sprintf("%s [ref=%s]", o.By.label, v.mint(o.doc.world, o.By.ID, o.By.label))
}

// answerGrace is how long a page script may take, after the time it was
// given, to say why it gave up.
const answerGrace = 1500 * time.Millisecond

// callerKey is under what an action's context holds the caller's own.
type callerKey struct{}

// callerOf returns the caller's own context: what an action may take longer
// than the time it has for waiting, it takes within this.
func callerOf(ctx context.Context) context.Context {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller
	}
	return ctx
}

// actionContext returns the context of an action's wait for its element. It
// ends a little before the caller's own, so that there is time to say why.
func actionContext(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		timeout = executor.DefaultActionTimeout
	}
	caller := callerOf(ctx)
	return context.WithTimeout(context.WithValue(ctx, callerKey{}, caller), min(timeout, callLimit(caller)))
}

// extend returns a context that ends grace after that of an action, or after
// now if that has ended, but no later than its caller's.
func extend(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	if now := time.Now(); deadline.Before(now) {
		deadline = now
	}
	caller := callerOf(ctx)
	return context.WithDeadline(context.WithValue(caller, callerKey{}, caller), deadline.Add(grace))
}
