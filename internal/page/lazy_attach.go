package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/entered"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// EventDetached is an event that a backend adds to the CDP events of the session of a tab that
// [AttachLazily] created. It reports that the debugger was detached from the target. Its parameters
// are a [Detached]. The backend reports the frames and workers of the tab as detached before it.
const EventDetached = "ChromeMCP.detached"

// Detached says why a target was detached.
type Detached struct {
	Code      executor.Code `json:"code"`
	Message   string        `json:"message"`
	Hint      string        `json:"hint"`
	Permanent bool          `json:"permanent"` // the target cannot be attached again
	MayBeOpen bool          `json:"mayBeOpen"` // it is unknown whether the target was closed
	NeedsUser bool          `json:"needsUser"` // the user must act before the target can be attached again
}

// AttachLazily returns a Tab for the page of sess without attaching to the page. No other code may
// read the events of sess. The first call that needs the page attaches to it with opts.Attach, and
// so does the first call after an [EventDetached]. Until then, the tab reports what
// [Tab.SetLastKnown] was called with. Refs stay valid across a detachment if the document does.
func AttachLazily(sess *cdpconn.Session, opts Options) *Tab {
	t := newTab(sess, opts)
	s := t.tree.Lock()
	defer s.Unlock()
	s.Detach(nil)
	return t
}

// SetLastKnown sets the URL and title that the tab reports while it is not attached.
func (t *Tab) SetLastKnown(url, title string) {
	s := t.tree.Lock()
	defer s.Unlock()
	s.SetLastKnownPage(frames.LastKnownPage{URL: url, Title: title})
}

// EnsureAttached attaches to the target unless it is attached.
func (t *Tab) EnsureAttached(ctx context.Context) error {
	if attached, err := t.attachState(); attached || err != nil {
		return err
	}
	select {
	case t.attaching <- struct{}{}:
		defer func() { <-t.attaching }()
	case <-ctx.Done():
		return busyError(ctx)
	}
	if attached, err := t.attachState(); attached || err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, t.timing.Reattach)
	defer cancel()
	err := t.reattach(limit)
	if err != nil && ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, executor.ErrTimeout)) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: errors.New("the page does not respond"),
			Hint: "The page may be busy, or blocked by a dialog that opened earlier. Ask the user to answer the dialog, or use another tab."}
	}
	return err
}

// Attached reports whether the target is attached.
func (t *Tab) Attached() bool {
	attached, _ := t.attachState()
	return attached
}

// attachState reports whether the target is attached. The error says why the tab is gone.
func (t *Tab) attachState() (bool, error) {
	s := t.tree.Lock()
	defer s.Unlock()
	return !s.Detached(), s.Gone()
}

// reattach attaches to the target and enables what the tab needs.
func (t *Tab) reattach(ctx context.Context) error {
	if err := t.opts.Attach(ctx); err != nil {
		return err
	}
	s := t.tree.Lock()
	s.Attach()
	t.tree.Changes.Notify()
	s.Unlock()
	// The debugger may have been attached all along, for another client or while nothing read its
	// events. Disabling these domains first makes the browser report their state again.
	for _, c := range []cdpconn.Command{
		{Method: "Runtime.disable"},
		{Method: "Target.setAutoAttach", Params: map[string]any{"autoAttach": false, "waitForDebuggerOnStart": false, "flatten": true}},
	} {
		if _, err := t.sess.Start(ctx, c.Method, c.Params); err != nil {
			return t.markDetached(err)
		}
	}
	// A page that opens a dialog in the meantime responds when the dialog is answered, a crashed
	// page when it is reloaded. Do not wait for either.
	var enabled error
	done := make(chan struct{})
	t.wg.Go(func() {
		enabled = t.enable(context.Background(), t.sess, false)
		close(done)
		t.tree.Changes.Notify()
	})
	err := t.tree.Await(ctx, func(s *frames.State) (bool, error) {
		if notify.IsClosed(done) {
			return true, enabled
		}
		return t.dialogs.Open() != nil || s.Crashed(), nil
	})
	if err != nil {
		return t.markDetached(err)
	}
	return nil
}

// markDetached marks the tab as detached again after attaching failed with err. It returns err.
func (t *Tab) markDetached(err error) error {
	s := t.tree.Lock()
	defer s.Unlock()
	if s.DetachReason() == nil && errors.Is(err, context.DeadlineExceeded) {
		t.Recording.AttachUnanswered()
	} else {
		t.Recording.Detached()
	}
	t.discardAttached(s, cmp.Or(s.DetachReason(), err))
	return err
}

// detached handles an EventDetached.
func (t *Tab) detached(s *frames.State, ev cdpconn.Event) {
	var d Detached
	if ev.Session != t.sess || t.opts.Attach == nil || json.Unmarshal(ev.Params, &d) != nil {
		return
	}
	err := executor.Errorf(d.Code, d.Hint, "%s", d.Message)
	err.Retryable = !d.Permanent && !d.NeedsUser
	if d.Permanent {
		s.End(err)
		t.mayBeOpen = d.MayBeOpen
	}
	t.Recording.Detached()
	t.discardAttached(s, err)
}

// discardAttached discards all state that is valid only while the debugger is attached, because it
// was detached for the reason err.
func (t *Tab) discardAttached(s *frames.State, err error) {
	s.Detach(err)
	t.rendering.stopped()
	t.dialogs.setOpen(nil)
	t.responses.Detached()
	t.inflight.Clear()
	t.entered.Arrived(entered.ArrivalRestored, true, nil)
	t.tree.Changes.Notify()
}
