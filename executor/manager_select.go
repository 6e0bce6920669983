package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// probeTTL is how long the result of a ping is valid, so that a burst of calls shares one ping, or
// one timeout.
const probeTTL = 2 * time.Second

// A probe is one ping of the extension, which any number of calls can wait for.
type probe struct {
	cancel context.CancelFunc
	late   <-chan struct{} // closed when the ping times out or is canceled
	done   chan struct{}   // closed when the ping has returned; then the fields below are set
	err    error           // nil if the extension can be used
	at     time.Time
}

// fresh reports whether the result of p is still valid or p is pending.
func (p *probe) fresh() bool {
	select {
	case <-p.done:
		return time.Since(p.at) < probeTTL
	default:
		return true
	}
}

var (
	errNoExtension  = errors.New("no extension backend configured")
	errProbeTimeout = errors.New("the extension does not respond")
)

// session returns the session on the selected backend, for a call that uses no existing tab.
func (m *Manager) session(ctx context.Context) (Executor, error) { return m.route(ctx, "", true) }

// sessionOf returns the session on the selected backend, for a call on tab.
func (m *Manager) sessionOf(ctx context.Context, tab TabID) (Executor, error) {
	return m.route(ctx, tab, tab != "")
}

// route returns the session on the selected backend. backendAgnostic is set if the call means the
// same in any browser: it names its tab, or needs none.
func (m *Manager) route(ctx context.Context, tab TabID, backendAgnostic bool) (Executor, error) {
	c, skipped, err := m.choose(ctx, true)
	if err != nil {
		return nil, err
	}
	// The session rejects an invalid id.
	if kind := BackendOf(tab); kind != "" && kind != c.kind {
		return nil, otherBackendError(fmt.Sprintf("tab %s", tab), kind, c.kind, skipped)
	}
	session, switched, err := m.switchTo(c, backendAgnostic, skipped)
	if err != nil {
		return nil, err
	}
	if switched != nil {
		switched.report(ctx)
	}
	return session, nil
}

// choose selects the backend to use now. skipped is the reason why it is not the extension although
// the extension is preferred. With wait, choose waits up to Timing.ExtensionReconnect for an
// extension that has just disconnected.
func (m *Manager) choose(ctx context.Context, wait bool) (c *backendState, skipped, err error) {
	if err := m.checkOpen(); err != nil {
		return nil, nil, err
	}
	useCDP := m.cdp != nil && !m.opts.NoCDPFallback
	if useCDP && (m.opts.Prefer == BackendCDP || m.extension == nil) {
		return m.cdp, nil, nil
	}
	if m.extension != nil && wait {
		m.waitForReconnect(ctx)
	}
	err = m.probeExtension(ctx)
	switch {
	case err == nil:
		return m.extension, nil, nil
	case ctx.Err() != nil:
		return nil, nil, &Error{Code: ErrTimeout, Retryable: true, Hint: HintMoreTime,
			Err: errs.WithCause("the call ended before a browser was chosen", context.Cause(ctx))}
	case useCDP:
		return m.cdp, err, nil
	}
	return nil, nil, m.noBackendError(err)
}

// waitForReconnect waits up to Timing.ExtensionReconnect for an extension that has disconnected.
func (m *Manager) waitForReconnect(ctx context.Context) {
	var late <-chan time.Time
	for {
		changed := m.opts.Extension.Changed()
		lost := m.opts.Extension.LastDisconnect()
		if m.opts.Extension.Connected() || lost.IsZero() {
			return
		}
		if late == nil {
			left := m.timing.ExtensionReconnect - time.Since(lost)
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

// probeExtension returns nil if the extension can be used. It pings it unless the last result is
// still valid.
func (m *Manager) probeExtension(ctx context.Context) error {
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
		return errProbeTimeout
	}
}

// ping returns the current ping of the extension, and starts one if necessary. The ping is shared:
// canceling the caller's context does not cancel it.
func (m *Manager) ping(ctx context.Context) (*probe, error) {
	connected := m.opts.Extension.Connected()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !connected {
		m.forgetProbe() // an extension that connects later must be pinged
		return nil, m.opts.Extension.DisconnectedError()
	}
	if m.probe != nil && m.probe.fresh() {
		return m.probe, nil
	}
	session, err := m.open(m.extension)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.timing.ExtensionPing)
	p := &probe{cancel: cancel, late: ctx.Done(), done: make(chan struct{})}
	m.probe = p
	m.pings.Go(func() {
		defer cancel()
		if err := session.Ping(ctx); err != nil {
			if p.err = errProbeTimeout; ctx.Err() == nil {
				p.err = fmt.Errorf("%w: %s", errProbeTimeout, message(err))
			}
			m.log.Warn("extension does not respond", "error", err)
		}
		p.at = time.Now()
		close(p.done)
	})
	return p, nil
}

// forgetProbe cancels and discards the last ping. m.mu must be held.
func (m *Manager) forgetProbe() {
	if m.probe != nil {
		m.probe.cancel()
		m.probe = nil
	}
}

// switchTo returns the session on c, which is about to be used. It rejects a call that is not
// backend-agnostic if the client has used the other backend, because its active tab and refs refer
// to that backend.
func (m *Manager) switchTo(c *backendState, backendAgnostic bool, skipped error) (Executor, *BackendSwitch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used != nil && m.used != c && !backendAgnostic {
		return nil, nil, otherBackendError("the active tab", m.used.kind, c.kind, skipped)
	}
	s, err := m.open(c)
	if err != nil || m.used == c {
		return s, nil, err
	}
	m.log.Info("selected backend", "backend", c.kind)
	var switched *BackendSwitch
	if m.used != nil {
		switched = &BackendSwitch{From: m.used.kind, To: c.kind, Reason: skipped}
	}
	m.used = c
	return s, switched, nil
}

// open returns the session on c. It creates the session if necessary. m.mu must be held.
func (m *Manager) open(c *backendState) (Executor, error) {
	if m.closed {
		return nil, errManagerClosed()
	}
	if c.session == nil {
		s, err := c.backend.NewSession(&m.opts.Session)
		if err != nil {
			return nil, err
		}
		c.session = s
	}
	return c.session, nil
}

// checkOpen returns ErrNoBackend if the Manager is closed.
func (m *Manager) checkOpen() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errManagerClosed()
	}
	return nil
}

func errManagerClosed() error {
	return Errorf(ErrNoBackend, "Create a new Manager.", "the manager is closed")
}

// noBackendError returns the ErrNoBackend of a Manager that cannot use CDP, and cannot use the
// extension because of why.
func (m *Manager) noBackendError(why error) error {
	e := &Error{Code: ErrNoBackend, Err: fmt.Errorf("no browser is available: %w", why), Retryable: m.extension != nil}
	var hints []string
	if m.extension != nil {
		hints = append(hints, "The user can open the Chrome that has the extension, and pair it.")
		if known := new(Error); errors.As(why, &known) && known.Hint != "" {
			hints[0] = known.Hint
		} else if errors.Is(why, errProbeTimeout) {
			hints[0] = errs.HintExtensionHung
		}
	}
	switch {
	case m.cdp != nil:
		e.Err = fmt.Errorf("%w, and the CDP fallback is disabled", e.Err)
		hints = append(hints, "The user can enable CDP by removing ManagerOptions.NoCDPFallback.")
	case m.extension == nil:
		hints = append(hints, "Give the Manager a backend.")
	}
	e.Hint = strings.Join(hints, " ")
	return e
}
