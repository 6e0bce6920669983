package page

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// EventDetached is an event that a backend puts among the protocol's own on
// the session of a tab made by [Adopt]: the debugger was taken away from the
// target. Its parameters are a [Detached]. The frames and workers of the tab
// have been reported as detached by then.
const EventDetached = "ChromeMCP.detached"

// Detached says why a target is not attached to any more.
type Detached struct {
	Code    executor.Code `json:"code"`
	Message string        `json:"message"`
	Hint    string        `json:"hint"`
	Final   bool          `json:"final"`   // it cannot be attached to again
	Lasting bool          `json:"lasting"` // it can, but not before its user did something
}

// wakeTimeout bounds the attaching to a target. A living page takes
// milliseconds; one that a dialog blocks, which opened before, never answers.
const wakeTimeout = 10 * time.Second

// A note is what is known of a tab that is not attached to.
type note struct{ url, title string }

// Adopt follows the page of sess, whose events nobody else reads, without
// attaching to it: that is done, by opts.Wake, by the first call that needs
// it, and by the first one after an [EventDetached]. Until then Note tells
// what is known of it. Refs outlive the time between, if the document does.
func Adopt(sess *cdpconn.Session, opts Options) *Tab {
	t := newTab(sess, opts)
	t.mu.Lock()
	t.asleep = true
	t.mu.Unlock()
	return t
}

// Note tells the URL and title of the page, which count while it is not
// attached to.
func (t *Tab) Note(url, title string) {
	t.mu.Lock()
	t.noted = note{url, title}
	t.mu.Unlock()
}

// Wake attaches to the target unless that is done.
func (t *Tab) Wake(ctx context.Context) error {
	if awake, err := t.awake(); awake || err != nil {
		return err
	}
	select {
	case t.waking <- struct{}{}:
		defer func() { <-t.waking }()
	case <-ctx.Done():
		return busyError(ctx)
	}
	if awake, err := t.awake(); awake || err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	err := t.rise(limit)
	if err != nil && ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, executor.ErrTimeout)) {
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: errors.New("the page does not answer"),
			Hint: "It may be busy, or a dialog may be open in it that opened before: the user can answer that. Or use another tab."}
	}
	return err
}

// Attached reports whether the target is attached to.
func (t *Tab) Attached() bool {
	awake, _ := t.awake()
	return awake
}

func (t *Tab) awake() (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.asleep, t.gone
}

func (t *Tab) rise(ctx context.Context) error {
	if err := t.opts.Wake(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	t.asleep, t.away = false, nil
	t.notify()
	t.mu.Unlock()
	// The debugger may have been attached all the time, for somebody else or
	// while nobody listened: what was told then is told again.
	for _, c := range []struct {
		method string
		params any
	}{{"Runtime.disable", nil}, {"Target.setAutoAttach", map[string]any{"autoAttach": false, "waitForDebuggerOnStart": false, "flatten": true}}} {
		if _, err := t.sess.Start(ctx, c.method, c.params); err != nil {
			return t.relapse(err)
		}
	}
	// A page that opens a dialog meanwhile answers when that was answered, a
	// crashed one when it was loaded again: neither is waited for.
	var enabled error
	done := make(chan struct{})
	t.wg.Go(func() {
		enabled = t.enable(context.Background(), t.sess, false)
		close(done)
		t.mu.Lock()
		t.notify()
		t.mu.Unlock()
	})
	err := t.await(ctx, func() (bool, error) {
		select {
		case <-done:
			return true, enabled
		default:
			return t.dialog != nil || t.crashed, nil
		}
	})
	if err != nil {
		return t.relapse(err)
	}
	return nil
}

// relapse takes back that the tab is attached to.
func (t *Tab) relapse(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away == nil {
		t.away = err
	}
	t.sleep()
	return err
}

// detached applies an EventDetached. t.mu must be held.
func (t *Tab) detached(ev cdpconn.Event) {
	var d Detached
	if ev.Session != t.sess || t.opts.Wake == nil || json.Unmarshal(ev.Params, &d) != nil {
		return
	}
	err := executor.Errorf(d.Code, d.Hint, "%s", d.Message)
	err.Retryable = !d.Final && !d.Lasting
	t.away = err
	if d.Final {
		t.gone = err
	}
	t.sleep()
}

// sleep forgets all that only an attached debugger keeps true. t.mu must be
// held.
func (t *Tab) sleep() {
	f := t.frames[t.main]
	if f.url != "" {
		t.noted.url = f.url
	}
	t.asleep, t.crashed, t.drawn = true, false, false
	t.record.pause()
	t.setDialog(nil)
	t.frames = map[cdp.FrameID]*frame{t.main: {id: t.main, sess: t.sess}}
	clear(t.scripts)
	clear(t.started)
	clear(t.status)
	t.traffic.pending = newTraffic().pending
	t.notify()
}

// known returns the top document, or as much of it as is known: between two
// documents, after a crash and while it is not attached to, there is none to
// run anything in. t.mu must be held.
func (t *Tab) known() *document {
	if d := t.documentOf(t.frames[t.main]); d != nil {
		return d
	}
	d := &document{tab: t, frame: t.main, url: "about:blank", origin: executor.OriginOpaque}
	dialog := t.dialog != nil && t.dialog.frameOr(t.main) == t.main && t.dialog.url != ""
	switch {
	case dialog: // which blocks the page, so that it tells nothing else
		d.url = t.dialog.url
	case t.asleep && t.noted.url != "":
		d.url = t.noted.url
	}
	if t.asleep || dialog {
		d.origin = originOfURL(d.url)
		if t.blankIsOurs() && d.url == "about:blank" {
			d.origin = executor.OriginOurs
		}
	}
	return d
}

// originOfURL returns the origin of the document at url, which is the
// browser's own word, as far as a URL tells it.
func originOfURL(url string) string {
	rest := strings.TrimPrefix(url, "blob:")
	scheme, rest, ok := strings.Cut(rest, "://")
	if !ok || (scheme != "http" && scheme != "https") {
		return executor.OriginOpaque
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, "#")
	if host == "" || strings.ContainsAny(host, "@\\ ") {
		return executor.OriginOpaque
	}
	return scheme + "://" + host
}
