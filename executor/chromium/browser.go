package chromium

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// A NetworkPolicy decides on every connection that a launched browser makes.
// policy.Policy is one. Its methods must be safe for concurrent use; an error
// denies, and its text is shown to whoever made the request.
//
// One that also has a method AddOwnPort(port int) is told, before the browser
// starts, of the loopback port at which the browser's connections are decided
// on. It should deny that port to pages, which a rule for loopback without a
// port would open.
type NetworkPolicy interface {
	// CheckHost decides before host is resolved. scheme is "http", or empty
	// for a tunnel, which https and WebSockets use. An IPv6 host has its
	// brackets.
	CheckHost(scheme, host string, port int) error
	// CheckPath checks the path of a request that CheckHost allowed, if the path
	// is visible, as in plain http. path is as sent.
	CheckPath(scheme, host string, port int, path string) error
	// CheckAddr decides on an address of host, immediately before it is
	// dialed.
	CheckAddr(host string, port int, addr netip.Addr) error
	// CheckDocument decides on where a tab goes, at each redirect too: CheckHost
	// may let a page load from more hosts than it may be led to.
	CheckDocument(url string) error
}

// A Browser is a Chromium that is launched, or joined, when it is first
// needed, and again after it went away. It is an executor.Backend. Its
// methods are safe for concurrent use.
type Browser struct {
	opts Options
	log  *slog.Logger

	mu       sync.Mutex    // guards what follows
	run      *run          // nil when none runs
	starting *start        // nil when none is starting
	lastErr  error         // why the last start failed
	lost     error         // why the run before this one ended, until a start
	leaving  chan struct{} // closed when what belonged to that run is gone
	closed   bool
	sessions map[*session.Session]bool
}

var (
	_ executor.Backend = (*Browser)(nil)
	_ session.Host     = host{}
)

// A start is one attempt to start a browser, which any number of calls wait
// for.
type start struct {
	done   chan struct{}
	run    *run
	err    error
	cancel context.CancelCauseFunc
	calls  int // that wait; when none is left it is given up
}

// New returns a Browser. It starts nothing; options that contradict each
// other are reported by the first call that needs the browser.
func New(opts Options) *Browser {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Browser{opts: opts, log: log, sessions: make(map[*session.Session]bool)}
}

// Kind returns executor.BackendCDP.
func (b *Browser) Kind() executor.BackendKind { return executor.BackendCDP }

// NewSession returns one client's Executor. It starts nothing. Sessions share
// the browser with its cookies, and see each other's tabs: a client that must
// not see another's needs a Browser of its own.
func (b *Browser) NewSession(opts executor.SessionOptions) (executor.Executor, error) {
	switch opts.AfterAction {
	case "", executor.AfterDiff, executor.AfterSnapshot, executor.AfterNone:
	default:
		return nil, executor.Errorf(executor.ErrBadArgs, "Use diff, snapshot or none.", "afterAction %q is unknown", string(opts.AfterAction))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed()
	}
	s := session.New(host{b}, opts)
	b.sessions[s] = true
	return s, nil
}

func errClosed() error {
	return executor.Errorf(executor.ErrNoBackend, "Make a new one.", "the browser was closed")
}

// A host is a Browser as its sessions see it.
type host struct{ *Browser }

// Joins implements session.Host.
func (b host) Joins() bool { return b.opts.CDPEndpoint != "" && b.opts.AttachDefaultContext }

// Forget implements session.Host.
func (b host) Forget(s *session.Session) {
	b.mu.Lock()
	delete(b.sessions, s)
	b.mu.Unlock()
}

// Current implements session.Host.
func (b host) Current() session.Browser {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run == nil {
		return nil
	}
	return b.run
}

// Acquire implements session.Host: it returns the browser that runs, or starts one. Calls that come while it starts wait for that start; a
// call that is cancelled does not take the start down for the others.
func (b host) Acquire(ctx context.Context) (session.Browser, error) {
	for {
		r, err := b.acquire(ctx)
		if !errors.Is(err, errGivenUp) || ctx.Err() != nil {
			return r, err
		}
		// Whoever wanted that start has gone, and this call came too late to
		// keep it going.
	}
}

// errGivenUp is the end of a start that nobody waited for any more.
var errGivenUp = errors.New("the start was given up")

func (b host) acquire(ctx context.Context) (session.Browser, error) {
	b.mu.Lock()
	if b.run != nil && b.run.conn.Err() != nil {
		b.lose(b.run) // nobody has noticed yet
	}
	switch {
	case b.closed:
		b.mu.Unlock()
		return nil, errClosed()
	case b.run != nil:
		defer b.mu.Unlock()
		return b.run, nil
	case b.starting == nil:
		startCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		b.starting = &start{done: make(chan struct{}), cancel: cancel}
		go b.begin(startCtx, b.starting)
	}
	st := b.starting
	st.calls++
	b.mu.Unlock()
	select {
	case <-st.done:
		if st.err != nil {
			return nil, st.err
		}
		return st.run, nil
	case <-ctx.Done():
		b.mu.Lock()
		if st.calls--; st.calls == 0 {
			st.cancel(errGivenUp)
		}
		b.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// begin starts a browser for st.
func (b *Browser) begin(ctx context.Context, st *start) {
	b.mu.Lock()
	leaving := b.leaving
	b.mu.Unlock()
	if leaving != nil {
		<-leaving // it holds the profile until then
	}
	r, err := b.connect(ctx)
	b.mu.Lock()
	if err == nil && b.closed {
		err = errClosed()
	}
	b.starting = nil
	if context.Cause(ctx) == nil {
		b.lastErr = err
	}
	if err == nil {
		b.run, b.lost = r, nil
	}
	b.mu.Unlock()
	if err != nil && r != nil {
		r.close()
	}
	if err != nil && errors.Is(context.Cause(ctx), errGivenUp) {
		err = errGivenUp // whatever it failed of on the way out
	}
	st.run, st.err = r, err
	st.cancel(nil)
	close(st.done)
	if err == nil {
		b.record(audit.Entry{Event: audit.EventConnected, Detail: r.describe()})
		r.work.Go(func() { b.watch(r) })
	}
}

// watch notes the end of a run and clears up after it.
func (b *Browser) watch(r *run) {
	<-r.conn.Done()
	b.mu.Lock()
	unasked := !b.closed
	b.lose(r)
	b.mu.Unlock()
	gone := audit.Entry{Event: audit.EventDisconnected}
	if unasked {
		gone.Detail = "it went away"
	}
	r.loseTransfers()
	b.record(gone)
	if unasked {
		b.log.Warn("the browser went away; the next call starts another", "error", r.conn.Err())
	}
	if err := r.release(); err != nil {
		b.log.Warn("clearing up after it", "error", err)
	}
	close(r.left)
}

// record tells Options.Audit.
func (b *Browser) record(e audit.Entry) {
	if b.opts.Audit != nil {
		e.Backend = string(executor.BackendCDP)
		b.opts.Audit.Record(e)
	}
}

// lose takes a run that has ended off the books. b.mu must be held.
func (b *Browser) lose(r *run) {
	if b.run == r {
		b.run = nil
		b.lost, b.leaving = r.conn.Err(), r.left
	}
}

// Status tells what is there.
func (b *Browser) Status(context.Context) executor.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := executor.Status{Backend: executor.BackendCDP}
	switch {
	case b.run != nil:
		s.Ready, s.CDPAttached = true, true
		s.Detail = b.run.describe()
	case b.closed:
		s.Detail = "closed"
	case b.lastErr != nil:
		s.Detail = "the browser did not start: " + b.lastErr.Error()
		var e *executor.Error
		if errors.As(b.lastErr, &e) && e.Hint != "" {
			s.Detail += " (" + e.Hint + ")"
		}
	case b.starting != nil:
		s.Detail = "the browser is starting"
	case b.lost != nil:
		s.Ready, s.Detail = true, "the browser went away; the next call starts another"
	case b.opts.CDPEndpoint != "":
		s.Ready, s.Detail = true, "the first call joins the browser at the CDP endpoint"
	default:
		s.Ready, s.Detail = true, "the first call that needs a browser starts one"
	}
	return s
}

// Close ends the browser if it was launched, lets it go if it was joined, and
// ends its sessions. It is idempotent.
func (b *Browser) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	r, st, leaving := b.run, b.starting, b.leaving
	b.run = nil
	sessions := make([]*session.Session, 0, len(b.sessions))
	for s := range b.sessions {
		sessions = append(sessions, s)
	}
	b.mu.Unlock()
	if st != nil {
		st.cancel(errClosed())
		<-st.done
	}
	if leaving != nil {
		<-leaving
	}
	var err error
	if r != nil {
		err = r.close()
	}
	for _, s := range sessions {
		s.Close()
	}
	return err
}

// each calls f with every session.
func (b *Browser) each(f func(*session.Session)) {
	b.mu.Lock()
	sessions := make([]*session.Session, 0, len(b.sessions))
	for s := range b.sessions {
		sessions = append(sessions, s)
	}
	b.mu.Unlock()
	for _, s := range sessions {
		f(s)
	}
}
