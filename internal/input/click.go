package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	cdpinput "github.com/chromedp/cdproto/input"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/keys"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/pointerstate"
	"github.com/chrome-mcp/chrome-mcp/internal/shield"
)

// Click clicks the target. Its steps are, in the order of this file: act finds the element, attempt
// waits until it is actionable, checks the hit target, presses the button and confirms that the
// element received the events, and act waits until the page has settled and reports what changed.
func (a *Actor) Click(ctx context.Context, target executor.Target, opts *executor.ClickOptions) (*executor.Action, error) {
	o := *cmp.Or(opts, new(executor.ClickOptions))
	o.Button, o.Count = cmp.Or(o.Button, executor.ButtonLeft), cmp.Or(o.Count, 1)
	if err := pointerstate.CheckButton(o.Button); err != nil {
		return nil, err
	}
	if o.Count < 1 || o.Count > 3 {
		return nil, executor.Errorf(executor.ErrBadArgs, "Use 1, 2 or 3.", "click count %d is out of range", o.Count)
	}
	modifiers, err := keys.ModifierBits(o.Modifiers)
	if err != nil {
		return nil, err
	}
	return actionOf(a.act(ctx, target, actOptions{timeout: o.Timeout}, func(ctx context.Context, el *element) (string, error) {
		return (&click{actor: a, el: el, button: o.Button, count: o.Count, modifiers: modifiers}).run(ctx)
	}))
}

// actOptions are the options of act.
type actOptions struct {
	timeout time.Duration // of the wait for the element; 0 means the default
	brief   bool          // Effects.Brief, for actions that read back their result
}

// act runs an action on an element and returns what it changed.
func (a *Actor) act(ctx context.Context, target executor.Target, opts actOptions, do func(context.Context, *element) (note string, err error)) (executor.Changes, error) {
	a.ReleaseButtons(ctx)
	actx, cancel := deadline.ForAction(ctx, opts.timeout)
	defer cancel()
	el, err := a.find(actx, target, opts.timeout > 0)
	if err != nil {
		return executor.Changes{}, err
	}
	w := a.opts.TrackChanges()
	defer w.End()
	effects := w.Effects()
	effects.Brief = opts.brief
	var note string
	for {
		el.effects, effects.Target = effects, el.Shown
		note, err = do(actx, el)
		if target.Selector == "" || !errors.As(err, new(elements.RemovedBeforeAction)) || actx.Err() != nil {
			break
		}
		// The page replaced the element before the action started.
		replacement, notFound := a.find(actx, target, opts.timeout > 0)
		if err = notFound; err != nil {
			break
		}
		el = replacement
	}
	if err != nil && !w.DetachedByExternalNavigation(err) {
		return executor.Changes{}, err
	}
	effects.Hung = note == pageBusyNote
	changes, err := w.Finish(ctx) // waits until the page has settled
	changes.Note = phrase.Notes(el.Note(), note, changes.Note)
	return changes, err
}

// A click is the state of one click on an element. With the left button, it is a tap if the tab
// emulates a touch screen: the touch events are followed by the mouse events that the browser
// derives from them.
type click struct {
	actor     *Actor
	el        *element
	button    executor.Button
	count     int
	modifiers int64

	maxDelay time.Duration // a press that arrives at the page later than that has no effect
	tap      bool
	at       *actionPoint
	check    *hitTargetCheck
	pressed  bool // the attempt has sent a press
	partial  bool // an event after a press was not sent
}

// clickLeft clicks el once with the left button.
func (a *Actor) clickLeft(ctx context.Context, el *element) (note string, err error) {
	return (&click{actor: a, el: el, button: executor.ButtonLeft, count: 1}).run(ctx)
}

// run makes attempts until ctx is done: another one after each whose target moved, and after each of the
// first two whose press had no effect.
func (c *click) run(ctx context.Context) (note string, err error) {
	c.maxDelay = c.actor.timing.PressDelivery
	for ineffective := 0; ; {
		note, err = c.attempt(ctx)
		if errors.Is(err, errPressHadNoEffect) {
			ineffective++
		}
		switch {
		case errors.Is(err, errTargetMoved) && ctx.Err() != nil:
			return "", c.notClickedError(c.actor.notStable(ctx, c.el))
		case errors.Is(err, errTargetMoved), errors.Is(err, errPressHadNoEffect) && ineffective < 3 && ctx.Err() == nil:
			c.maxDelay = c.actor.timing.BusyPress // try again; the page may be busy
		default:
			return note, c.notClickedError(err)
		}
	}
}

// attempt waits until the element is actionable, and presses and releases the button there count
// times. It confirms each time that the element received the input: an element that replaces it
// after the first click of a double click does not receive the second. It returns errTargetMoved if
// the element was no longer at the point before the press, and an error that wraps
// errPressHadNoEffect if the press was not sent or was blocked.
func (c *click) attempt(ctx context.Context) (note string, err error) {
	c.pressed = false // the press of an earlier attempt was blocked
	if c.at, err = c.actor.waitActionable(ctx, c.el, actionabilityOptions{}); err != nil {
		return "", err
	}
	if err := c.startCheck(ctx); err != nil {
		return "", err
	}
	defer c.check.end()
	for n := 1; ; n++ {
		note, done, err := c.pressOnce(ctx, n)
		if err != nil || done || n == c.count {
			return note, err
		}
		if note, err := c.check.recheck(ctx, c.at, n, c.count); note != "" || err != nil {
			return note, err
		}
	}
}

// clickEventType maps each button to the event that ends a click with it.
var clickEventType = map[executor.Button]string{
	executor.ButtonLeft: "click", executor.ButtonRight: "contextmenu", executor.ButtonMiddle: "auxclick",
}

// startCheck starts the check that the element receives the events, and only the element.
func (c *click) startCheck(ctx context.Context) (err error) {
	a := c.actor
	if err := a.pointer.checkPaste(ctx, c.button, c.at.x, c.at.y); err != nil {
		return err
	}
	types := []string{"pointerdown", "mousedown", clickEventType[c.button]}
	if c.tap = c.button == executor.ButtonLeft && a.opts.Emulation.Touch(); c.tap {
		types[1] = "touchstart"
	}
	c.check, err = a.startPressCheck(ctx, c.el, c.at, c.count, c.maxDelay, types...)
	if errors.Is(err, frames.ErrDocumentGone) {
		return a.finder.RemovedBeforeActionError(ctx, c.el.Element)
	}
	if e := c.el.effects; e != nil && err == nil {
		e.NoScroll = !e.Changed && !c.at.mayHaveMoved && c.el.Doc.IsTop() && c.at.frame == nil
	}
	return err
}

// pressOnce presses and releases the button for the n-th time, waits until the page has handled that,
// and confirms that the element received it. done means that no more input can follow.
func (c *click) pressOnce(ctx context.Context, n int) (note string, done bool, err error) {
	sent, err := c.send(ctx, n)
	if err == nil {
		note, done, err = c.check.wait(ctx, sent, completionCriteria{last: clickEventType[c.button], times: n, more: n < c.count, tap: c.tap})
	}
	if c.pressed && !errors.Is(err, errPressHadNoEffect) {
		c.el.Shown.RecordInput()
	}
	return note, done, err
}

// send sends the events of the n-th press and its release. It does not wait for the page. After an
// event that was not sent, it sends no other one, except that it releases the button.
func (c *click) send(ctx context.Context, n int) (sent []*cdpconn.Pending, err error) {
	method, events := cdpinput.CommandDispatchMouseEvent, pointerstate.ClickEvents(c.at.x, c.at.y, c.button, n, c.modifiers)
	if c.tap {
		method, events = cdpinput.CommandDispatchTouchEvent, pointerstate.TapEvents(c.at.x, c.at.y, c.modifiers)
	} else if n == 1 {
		c.el.Shown.RecordHover()
	}
	c.check.beginPress()
	release := len(events) - 1
	for i, e := range events {
		p, err := c.actor.StartInput(ctx, method, e)
		if err != nil {
			return nil, c.notSent(ctx, n, i == release, err)
		}
		sent = append(sent, p)
		c.pressed = c.pressed || i == release-1
	}
	return sent, nil
}

// notSent returns the error of the n-th press, of which an event was not sent because of err. If that
// was the release, it releases the button.
func (c *click) notSent(ctx context.Context, n int, release bool, err error) error {
	c.partial = c.pressed
	if release {
		c.actor.pointer.releaseSent(ctx, c.tap, c.button, c.at.x, c.at.y)
		return shield.WithProgress(err, "the press was sent, and the page may still receive it")
	}
	c.check.noPressPending()
	if n > 1 {
		err = shield.WithProgress(err, fmt.Sprintf("the element was clicked %d of %d times", n-1, c.count))
	}
	return err
}

// notClickedError adds to the error for an open dialog that the element was not clicked, unless a press
// was sent and then an event was not.
func (c *click) notClickedError(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || e.Code != executor.ErrDialogOpen || c.partial {
		return err
	}
	notClicked := *e
	notClicked.Err = fmt.Errorf("%s, so the element was not clicked", e.Message())
	return &notClicked
}
