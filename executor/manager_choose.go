package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// probeTimeout is what an extension has to answer a ping: a living one
	// takes milliseconds, one whose worker must be woken up to half a second.
	probeTimeout = 800 * time.Millisecond
	// probeLife is how long the answer counts, so that a burst of calls pays
	// for one ping, and for one wait when there is no answer.
	probeLife = 2 * time.Second
	// returnTime is what an extension has to come back that was lost: it does
	// so in half a second when only the connection broke, it was loaded anew,
	// or the token was changed. No call should take longer than two seconds
	// for finding out that it does not, the start of another browser included.
	returnTime = 600 * time.Millisecond
)

// A probe is one ping of the extension, which any number of calls wait for.
type probe struct {
	cancel context.CancelFunc
	late   <-chan struct{} // closed when the ping's time is over, or nobody needs it
	done   chan struct{}   // closed when it was answered; then the rest is set
	err    error           // nil when the extension can be used
	at     time.Time
}

// fresh reports whether p need not be repeated: it is under way, or was
// answered a short while ago.
func (p *probe) fresh() bool {
	select {
	case <-p.done:
		return time.Since(p.at) < probeLife
	default:
		return true
	}
}

var (
	errNoExtension = errors.New("there is no extension")
	errNoAnswer    = errors.New("the extension is connected but does not answer")
)

// on returns what a call about tab goes to: the session on the backend that
// is to be used now, or an Unavailable with the reason why there is none.
func (m *Manager) on(ctx context.Context, tab TabID) Executor {
	return m.route(ctx, tab, tab != "")
}

// anew is on for a call that means no tab that was there before.
func (m *Manager) anew(ctx context.Context) Executor { return m.route(ctx, "", true) }

// route is on. knows says that the call means the same in whatever browser it
// comes to: it names its tab, or needs none.
func (m *Manager) route(ctx context.Context, tab TabID, knows bool) Executor {
	c, passed, err := m.choose(ctx, true)
	if err != nil {
		return Unavailable{err}
	}
	// An id that is not one is for the session to refuse.
	if prefix, _, _, err := tab.Split(); err == nil && prefix != c.prefix {
		return Unavailable{elsewhere(fmt.Sprintf("tab %s", tab), c.other(), c.kind, passed)}
	}
	session, switched, err := m.enter(c, knows, passed)
	if err != nil {
		return Unavailable{err}
	}
	if switched != nil {
		switched.tell(ctx)
	}
	return session
}

// choose picks the backend to use now. passed says why that is not the
// extension although it is preferred. A patient caller waits a moment for one
// that was just lost.
func (m *Manager) choose(ctx context.Context, patient bool) (c *child, passed, err error) {
	if err := m.alive(); err != nil {
		return nil, nil, err
	}
	useCDP := m.cdp != nil && !m.opts.NoCDPFallback
	if useCDP && (m.opts.Prefer == BackendCDP || m.extension == nil) {
		return m.cdp, nil, nil
	}
	if m.extension != nil && patient {
		m.await(ctx)
	}
	err = m.reach(ctx)
	switch {
	case err == nil:
		return m.extension, nil, nil
	case ctx.Err() != nil:
		return nil, nil, &Error{Code: ErrTimeout, Retryable: true, Err: context.Cause(ctx),
			Hint: "The call ended while it was being found out which browser is there."}
	case useCDP:
		return m.cdp, err, nil
	}
	return nil, nil, m.none(err)
}

// await waits for an extension that was lost a moment ago.
func (m *Manager) await(ctx context.Context) {
	var late <-chan time.Time
	for {
		changed := m.opts.Extension.Changed()
		lost := m.opts.Extension.Lost()
		if m.opts.Extension.Connected() || lost.IsZero() {
			return
		}
		if late == nil {
			left := returnTime - time.Since(lost)
			if left <= 0 {
				return
			}
			late = time.After(left)
		}
		select {
		case <-changed:
		case <-late:
			return
		case <-ctx.Done():
			return
		case <-m.closing:
			return
		}
	}
}

// reach returns nil when the extension can be used. It asks it unless that
// was done a short while ago.
func (m *Manager) reach(ctx context.Context) error {
	if m.extension == nil {
		return errNoExtension
	}
	p, err := m.ping(ctx)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-p.late:
	case <-ctx.Done():
	}
	select {
	case <-p.done:
		return p.err
	default:
		return errNoAnswer
	}
}

// ping returns the ping that tells about the extension, and begins one if
// needed. It is not the caller's own: that one's end does not end it.
func (m *Manager) ping(ctx context.Context) (*probe, error) {
	connected := m.opts.Extension.Connected()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !connected {
		m.forgetProbe() // the next one that connects is asked anew
		return nil, m.opts.Extension.Absent()
	}
	if m.probe != nil && m.probe.fresh() {
		return m.probe, nil
	}
	session, err := m.open(m.extension)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	p := &probe{cancel: cancel, late: ctx.Done(), done: make(chan struct{})}
	m.probe = p
	m.pings.Go(func() {
		defer cancel()
		if err := session.Ping(ctx); err != nil {
			if p.err = errNoAnswer; ctx.Err() == nil {
				p.err = fmt.Errorf("%w: %s", errNoAnswer, message(err))
			}
			m.log.Warn("the extension does not answer", "error", err)
		}
		p.at = time.Now()
		close(p.done)
	})
	return p, nil
}

// forgetProbe drops the last ping. m.mu must be held.
func (m *Manager) forgetProbe() {
	if m.probe != nil {
		m.probe.cancel()
		m.probe = nil
	}
}

// enter returns the session on c, which is about to be used. A call that does
// not know where it goes is refused when the client has been elsewhere: its
// active tab and its refs mean something else here.
func (m *Manager) enter(c *child, knows bool, passed error) (Executor, *Switch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used != nil && m.used != c && !knows {
		return nil, nil, elsewhere("the active tab", m.used.kind, c.kind, passed)
	}
	s, err := m.open(c)
	if err != nil || m.used == c {
		return s, nil, err
	}
	m.log.Info("calls go to this backend from now on", "backend", c.kind)
	var switched *Switch
	if m.used != nil {
		switched = &Switch{From: m.used.kind, To: c.kind, Reason: passed}
	}
	m.used = c
	return s, switched, nil
}

// open returns the session on c, and makes it when there is none. m.mu must
// be held.
func (m *Manager) open(c *child) (Executor, error) {
	if m.closed {
		return nil, errManagerClosed()
	}
	if c.session == nil {
		s, err := c.backend.NewSession(m.opts.Session)
		if err != nil {
			return nil, err
		}
		c.session = s
	}
	return c.session, nil
}

// alive returns ErrNoBackend when the Manager was closed.
func (m *Manager) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errManagerClosed()
	}
	return nil
}

func errManagerClosed() error {
	return Errorf(ErrNoBackend, "Make a new one.", "the manager is closed")
}

// none returns the ErrNoBackend of a Manager that may not use CDP, or has
// none, and cannot use the extension for the reason given.
func (m *Manager) none(why error) error {
	e := &Error{Code: ErrNoBackend, Err: fmt.Errorf("no browser is available: %w", why), Retryable: m.extension != nil}
	var hints []string
	if m.extension != nil {
		hints = append(hints, "The user can open the Chrome that has the extension, and pair it.")
		if known := new(Error); errors.As(why, &known) && known.Hint != "" {
			hints[0] = known.Hint
		}
	}
	switch {
	case m.cdp != nil:
		e.Err = fmt.Errorf("%w, and to launch a Chromium in its place is turned off", e.Err)
		hints = append(hints, "The user can start chrome-mcp without --no-cdp-fallback.")
	case m.extension == nil:
		hints = append(hints, "Give the Manager a backend.")
	}
	e.Hint = strings.Join(hints, " ")
	return e
}
