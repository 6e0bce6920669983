package chromium

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A NetworkPolicy decides on every connection that a launched browser makes. policy.Policy
// implements it. Its methods must be safe for concurrent use. An error denies the connection, and
// its text is shown to the program that made the request.
//
// If a NetworkPolicy also has a method AddOwnPort(port int), it is called before the browser starts
// with the loopback port of the egress proxy, and before we attach to a browser on this machine with
// its debugging port. The policy should deny these ports to pages; otherwise a rule for loopback
// without a port would allow them. If it also has a method AddDebuggingPort(port int), that is called
// for debugging ports only, which the pages of other Backends must not reach either.
type NetworkPolicy interface {
	executor.NetworkPolicy
	// CheckDocument decides on the URL of a document, including each redirect hop. CheckHost may
	// let a page load resources from more hosts than a tab may navigate to.
	CheckDocument(url string) error
}

// A Backend launches a Chromium, or attaches to one, when it is first needed, and again after the
// browser has exited. It implements executor.Backend. Its methods are safe for concurrent use.
type Backend struct {
	opts     Options
	log      *slog.Logger
	sessions session.Registry

	mu          sync.Mutex                               // guards the fields below
	instance    *instance                                // nil if no browser is running
	starting    *start                                   // nil if no browser is starting
	lastErr     error                                    // why the last start failed
	lastExitErr error                                    // why the last instance exited; reset by a successful start
	cleanupDone chan struct{}                            // closed when the cleanup after that instance is complete
	idleReports map[*session.Session]*executor.IdleClose // what sessions had open when CloseIdle closed the browser, until TakeIdleReport returns it
	kept        *keptState                               // what the next browser continues with; nil means nothing
	closed      bool
}

var (
	_ executor.Backend        = (*Backend)(nil)
	_ session.BrowserProvider = sessionProvider{}
)

// A start is one attempt to start a browser, which any number of calls wait for.
type start struct {
	done     chan struct{}
	instance *instance
	err      error
	cancel   context.CancelCauseFunc
	calls    int // number of waiting calls; at 0 the start is canceled
}

// New returns a Backend. It starts nothing. A nil opts means the defaults. New returns ErrBadArgs for options that are invalid or
// contradict each other. Errors that depend on the environment, such as a browser that is not installed, are
// returned by the first call that needs the browser.
func New(opts *Options) (*Backend, error) {
	o := *cmp.Or(opts, new(Options))
	if err := o.check(); err != nil {
		return nil, err
	}
	o.timing = cmp.Or(o.timing, timing.Current())
	return &Backend{opts: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}, nil
}

// Kind returns executor.BackendCDP.
func (b *Backend) Kind() executor.BackendKind { return executor.BackendCDP }

// NewSession returns an Executor for one client. It starts nothing. Sessions share the browser with
// its cookies, and see each other's tabs. Clients that must not see each other's tabs need separate
// Backends.
func (b *Backend) NewSession(opts *executor.SessionOptions) (executor.Executor, error) {
	return b.sessions.Open(sessionProvider{b}, *cmp.Or(opts, new(executor.SessionOptions)))
}

// A sessionProvider implements session.BrowserProvider for a Backend.
type sessionProvider struct{ *Backend }

// AttachesToRunning implements session.BrowserProvider.
func (b sessionProvider) AttachesToRunning() bool {
	return b.opts.CDPEndpoint != "" && b.opts.AttachDefaultContext
}

// Current implements session.BrowserProvider.
func (b sessionProvider) Current() session.BrowserInstance {
	if in := b.running(); in != nil {
		return in
	}
	return nil
}

// running returns the running browser, or nil.
func (b *Backend) running() *instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.instance
}

// Acquire implements session.BrowserProvider. It returns the running browser, or starts one.
// Concurrent calls share one start. A canceled call does not cancel the start for the others.
func (b sessionProvider) Acquire(ctx context.Context) (session.BrowserInstance, error) {
	for {
		r, err := b.acquire(ctx)
		if !errors.Is(err, errStartAbandoned) || ctx.Err() != nil {
			return r, err
		}
		// All calls that waited for that start were canceled before this call could keep it
		// running.
	}
}

// errStartAbandoned is the error of a start that no call waits for any longer.
var errStartAbandoned = errors.New("launch abandoned")

func (b sessionProvider) acquire(ctx context.Context) (session.BrowserInstance, error) {
	b.mu.Lock()
	if b.instance != nil && b.instance.conn.Err() != nil {
		b.forgetInstance(b.instance) // the exit has not been handled yet
	}
	switch {
	case b.closed:
		b.mu.Unlock()
		return nil, session.ErrClosed()
	case b.instance != nil:
		defer b.mu.Unlock()
		return b.instance, nil
	case b.starting == nil:
		startCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		b.starting = &start{done: make(chan struct{}), cancel: cancel}
		go b.startBrowser(startCtx, b.starting)
	}
	st := b.starting
	st.calls++
	b.mu.Unlock()
	select {
	case <-st.done:
		if st.err != nil {
			return nil, st.err
		}
		return st.instance, nil
	case <-ctx.Done():
		b.mu.Lock()
		if st.calls--; st.calls == 0 {
			st.cancel(errStartAbandoned)
		}
		b.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// startBrowser starts a browser for st.
func (b *Backend) startBrowser(ctx context.Context, st *start) {
	b.mu.Lock()
	cleanup, kept := b.cleanupDone, b.kept
	b.mu.Unlock()
	if cleanup != nil {
		<-cleanup // the old browser uses the profile until then
	}
	in, err := b.connect(ctx, kept)
	b.endStart(ctx, st, in, err)
}

// endStart ends st, with an instance or an error.
func (b *Backend) endStart(ctx context.Context, st *start, in *instance, err error) {
	b.mu.Lock()
	if err == nil && b.closed {
		err = session.ErrClosed()
	}
	b.starting = nil
	if context.Cause(ctx) == nil {
		b.lastErr = err
	}
	if err == nil {
		b.instance, b.lastExitErr, b.kept = in, nil, nil
		in.work.Go(func() { // before a caller can close the instance
			<-st.done
			b.watch(in)
		})
	}
	b.mu.Unlock()
	if err != nil && in != nil {
		in.close()
	}
	if err != nil && errors.Is(context.Cause(ctx), errStartAbandoned) {
		err = errStartAbandoned // regardless of the error that the cancellation caused
	}
	st.instance, st.err = in, err
	st.cancel(nil)
	if err == nil {
		b.record(audit.Entry{Event: audit.EventConnected, Detail: in.describe()})
	}
	close(st.done)
}

// watch waits until a browser exits and then cleans up after it.
func (b *Backend) watch(in *instance) {
	select {
	case <-in.conn.Done():
	case <-in.ended:
	}
	b.mu.Lock()
	unexpected := !b.closed
	b.forgetInstance(in)
	b.mu.Unlock()
	gone := audit.Entry{Event: audit.EventDisconnected}
	evicted := in.evicted.Load()
	switch {
	case evicted != nil:
		gone.Detail = evicted.Message()
	case unexpected:
		gone.Detail = "browser exited"
	}
	in.downloads.failAll()
	b.record(gone)
	if unexpected && evicted == nil {
		b.log.Warn("browser exited; the next call starts a new one", "error", in.conn.Err())
	}
	if err := in.release(); err != nil {
		b.log.Warn("cleanup failed", "error", err)
	}
	close(in.cleanupDone)
}

// record passes an entry to Options.Audit.
func (b *Backend) record(e audit.Entry) {
	if b.opts.Audit != nil {
		e.Backend = string(executor.BackendCDP)
		b.opts.Audit.Record(e)
	}
}

// forgetInstance removes an instance whose browser has exited. b.mu must be held.
func (b *Backend) forgetInstance(in *instance) {
	if b.instance == in {
		b.instance = nil
		b.lastExitErr, b.cleanupDone = in.conn.Err(), in.cleanupDone
		if evicted := in.evicted.Load(); evicted != nil {
			b.lastExitErr = evicted
		}
	}
}

// Status returns the state of the backend.
func (b *Backend) Status(context.Context) executor.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := executor.Status{Backend: executor.BackendCDP}
	switch {
	case b.instance != nil:
		s.Ready, s.CDPAttached = true, true
		s.Detail = b.instance.describe()
	case b.closed:
		s.Detail = "closed"
	case b.lastErr != nil:
		s.Detail = "the browser did not start: " + b.lastErr.Error()
		if e, ok := errors.AsType[*executor.Error](b.lastErr); ok && e.Hint != "" {
			s.Detail += " (" + e.Hint + ")"
		}
	case b.starting != nil:
		s.Detail = "the browser is starting"
	case b.lastExitErr != nil:
		s.Ready, s.Detail = true, "the browser exited, or the connection to it ended; the next call starts one or connects again"
		if e, ok := errors.AsType[*executor.Error](b.lastExitErr); ok {
			s.Detail = e.Message()
		}
	case b.opts.Browserless != nil:
		s.Ready, s.Detail = true, "the first call that needs a browser launches one on browserless"
	case b.opts.CDPEndpoint != "":
		s.Ready, s.Detail = true, "the first call attaches to the browser at the CDP endpoint"
	default:
		s.Ready, s.Detail = true, "the first call that needs a browser starts one"
	}
	return s
}

// Close terminates a launched browser or detaches from an attached one, and closes the backend's
// sessions. It is idempotent.
func (b *Backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	in, st, cleanup := b.instance, b.starting, b.cleanupDone
	b.instance = nil
	b.mu.Unlock()
	if st != nil {
		st.cancel(session.ErrClosed())
		<-st.done
	}
	if cleanup != nil {
		<-cleanup
	}
	var err error
	if in != nil {
		err = in.close()
	}
	b.sessions.CloseAll()
	return errors.Join(err, b.discardKept())
}
