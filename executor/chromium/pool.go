package chromium

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const (
	// maxContexts bounds the browser contexts that are open in one browser of a Pool at a time. A
	// crash of the browser ends all of them.
	maxContexts = 16
	// maxContextsCreated bounds the browser contexts that are created in one browser of a Pool.
	// After that another browser is launched, so that what Chromium leaks does not accumulate.
	maxContextsCreated = 200
	// poolStorageQuota is how much each origin may store, in bytes. The contexts are off the record, so
	// what their pages store is in the memory of the browser.
	poolStorageQuota = 256 << 20
	// poolIdleTimeout is the time that a browser of a Pool without contexts keeps running, so that
	// the next session does not have to launch it.
	poolIdleTimeout = 30 * time.Second
)

// A Pool runs launched browsers that several Backends share. Each [Backend] whose options name the
// Pool has its own browser context, with separate cookies, storage, cache, permissions, downloads,
// network policy and egress proxy. Backends of one principal that select the same program in the same
// way share a browser. When a browser exits, the next call of each of its Backends continues in
// another one.
//
// The methods of a Pool are safe for concurrent use. The zero value is an empty Pool.
type Pool struct {
	// Logger logs starts, exits and cleanup. nil discards. It must not change after the first use
	// of the Pool.
	Logger *slog.Logger
	// MaxBrowsers is the maximum number of browsers. A Backend that needs another one waits until
	// one exits or has no contexts; those whose principals have the fewest browsers come first. After
	// 30 s its call returns ErrBackpressure. 0 means DefaultMaxBrowsers. It must not change after the
	// first use of the Pool.
	MaxBrowsers int

	running sync.WaitGroup // one for each browser, until it and its profile are gone

	mu       sync.Mutex // guards the fields below
	browsers []*pooledBrowser
	waiting  []*browserWaiter // in the order in which they arrived
	changed  notify.Broadcast // the fields above
	closed   bool
	err      error // from removing profiles

	run func(*pooledBrowser, context.Context, Options) // of a browser; tests change it, nil means pooledBrowser.run
}

// launchKey has the options that the Backends in one browser have in common.
type launchKey struct {
	principal, browser, dataDir, extraArgs string
	headless, noSandbox                    bool
}

// A pooledBrowser is a browser of a Pool.
type pooledBrowser struct {
	pool  *Pool
	key   launchKey
	flood floodWatch
	log   *slog.Logger
	stop  context.CancelFunc // cancels the start
	work  sync.WaitGroup

	started chan struct{} // closed when the fields below, or err, are set
	proc    *launch.Process
	conn    *cdpconn.Conn
	port    *egress.Port
	err     error
	exited  chan struct{} // closed when the browser and its profile are gone

	users   int         // instances that use the browser or wait for its start; guarded by pool.mu
	created int         // instances that have used it; guarded by pool.mu
	retired bool        // accepts no further instances; guarded by pool.mu
	idle    *time.Timer // ends the browser after poolIdleTimeout without users; guarded by pool.mu

	undecided undecidedDownloads

	mu        sync.Mutex           // guards instances
	instances map[string]*instance // by browser context
}

// acquire returns a browser for an instance with the given options. It launches one if all browsers
// of its principal are full. The caller releases it.
func (p *Pool) acquire(ctx context.Context, opts Options) (*pooledBrowser, error) {
	headless, err := launch.Headless(opts.Headless)
	if err != nil {
		return nil, err
	}
	key := launchKey{opts.Principal, opts.Browser, opts.DataDir, strings.Join(opts.ExtraArgs, "\x00"), headless, opts.NoSandbox}
	b, err := p.reserve(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	select {
	case <-b.started:
		if err = b.err; err == nil {
			return b, nil
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	b.leave()
	return nil, err
}

// hasExited reports whether the browser has exited, or did not start.
func (b *pooledBrowser) hasExited() bool {
	return notify.IsClosed(b.started) && (b.err != nil || b.conn.Err() != nil)
}

// leave ends one use of the browser.
func (b *pooledBrowser) leave() {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	if b.users--; b.users == 0 && slices.Contains(b.pool.browsers, b) && !b.pool.closed {
		b.idle = time.AfterFunc(poolIdleTimeout, b.endIfIdle)
	}
	b.pool.changed.Notify()
}

// retire prevents further instances from using the browser.
func (b *pooledBrowser) retire() {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	b.retired = true
}

// endIfIdle ends the browser unless it has a user again.
func (b *pooledBrowser) endIfIdle() {
	b.pool.mu.Lock()
	idle := b.users == 0
	if idle {
		b.forget()
	}
	b.pool.mu.Unlock()
	if idle {
		b.end()
	}
}

// forget removes the browser from its pool. pool.mu must be held.
func (b *pooledBrowser) forget() {
	b.pool.browsers = slices.DeleteFunc(b.pool.browsers, func(x *pooledBrowser) bool { return x == b })
	b.pool.changed.Notify()
}

// run launches the browser, and cleans up after it has exited.
func (b *pooledBrowser) run(ctx context.Context, opts Options) {
	b.err = b.start(ctx, opts)
	close(b.started)
	if b.err == nil {
		<-b.conn.Done()
	}
	var err error
	if b.proc != nil {
		limit, cancel := context.WithTimeout(context.Background(), opts.timing.BrowserExit)
		defer cancel()
		err = b.proc.Close(limit)
	}
	if b.conn != nil {
		b.conn.Close()
	}
	b.work.Wait()
	if b.port != nil {
		err = errors.Join(err, b.port.Close())
	}
	b.pool.mu.Lock()
	b.forget()
	b.pool.err = errors.Join(b.pool.err, err)
	b.pool.mu.Unlock()
	if err != nil {
		b.log.Warn("cleanup failed", "error", err)
	}
}

// start launches the browser. Its own connections, and those of its default browser context, have
// no credentials for the proxy and are rejected.
func (b *pooledBrowser) start(ctx context.Context, opts Options) error {
	var err error
	if b.port, err = egress.NewPort(maxContexts*egress.DefaultMaxConns, opts.Logger); err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "Try again.", "egress proxy did not start: %w", err)
	}
	opts.Network, opts.Pool, opts.ProxyServer, opts.Profile = nil, nil, b.port.Addr(), ""
	if b.proc, err = opts.launch(ctx); err != nil {
		return err
	}
	b.conn = cdpconn.New(b.proc.Transport)
	b.conn.BrowserSession().InOrder() // so that the reply to a command is processed in order with the events
	b.work.Go(func() { follow(b.conn, b.handle) })
	attach, err := autoAttach(ctx, b.conn)
	if err != nil {
		return err
	}
	if err := interceptDocuments(ctx, b.conn, nil); err != nil {
		return err
	}
	return attach.Wait(ctx, nil)
}

// end terminates the browser. It does not wait for its exit.
func (b *pooledBrowser) end() {
	<-b.started
	if b.err == nil {
		b.conn.Close()
	}
}

// Close terminates the browsers and waits until they and their profiles are gone. The Backends in
// them must have been closed. It is idempotent.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.changed.Notify()
	browsers := slices.Clone(p.browsers)
	for _, b := range browsers {
		if b.idle != nil {
			b.idle.Stop()
		}
	}
	p.mu.Unlock()
	for _, b := range browsers {
		b.stop()
		b.end()
	}
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// handle passes an event of the browser's CDP session to the instances that it concerns.
func (b *pooledBrowser) handle(ev cdpconn.Event) {
	switch ev.Method {
	case "Target.attachedToTarget":
		onEvent(ev, target.AttachedToTarget, func(e target.EventAttachedToTarget) {
			if ev.Child != nil {
				b.attached(ev.Child, e)
			}
		})
	case "Target.detachedFromTarget":
		for _, in := range b.all() {
			in.detached(ev.Child)
		}
	case "Fetch.requestPaused":
		onEvent(ev, fetch.RequestPaused, b.documentPaused)
	case "Browser.downloadWillBegin":
		onEvent(ev, browser.DownloadWillBegin, b.downloadBegan)
	case "Browser.downloadProgress":
		onEvent(ev, browser.DownloadProgress, b.downloadProgressed)
	}
}

// attached passes a page to the instance of its browser context. A page that belongs to no instance
// is closed: its context is being disposed of, or is the default one, which we do not use.
func (b *pooledBrowser) attached(s *cdpconn.Session, e target.EventAttachedToTarget) {
	b.mu.Lock()
	in := b.instances[string(e.TargetInfo.BrowserContextID)]
	b.mu.Unlock()
	if in != nil {
		in.onAttached(s, e)
		return
	}
	b.conn.BrowserSession().Start(context.Background(), "Target.closeTarget", map[string]any{"targetId": e.TargetInfo.TargetID})
}

// documentPaused passes the request for a document of a tab to the instance of the tab. The
// document of a subframe is a subresource, which the proxy checks.
func (b *pooledBrowser) documentPaused(e fetch.EventRequestPaused) {
	b.watchFlood()
	id := target.ID(e.FrameID) // of the tab, if the frame is a top frame
	for _, in := range b.all() {
		if in.tabs.has(id) {
			in.documents.paused(e)
			return
		}
	}
	b.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timing.Current().AttachTab)
		defer cancel()
		s := b.conn.BrowserSession()
		var res struct {
			Info target.Info `json:"targetInfo"`
		}
		err := s.Call(ctx, "Target.getTargetInfo", map[string]any{"targetId": id}, &res)
		b.mu.Lock()
		in := b.instances[string(res.Info.BrowserContextID)]
		if in != nil { // close has not begun to wait
			in.work.Add(1)
			defer in.work.Done()
		}
		b.mu.Unlock()
		switch {
		case isUnknownTarget(err), err == nil && res.Info.Type == "iframe":
			s.Start(ctx, "Fetch.continueRequest", map[string]any{"requestId": e.RequestID})
		case err == nil && in != nil: // a tab that is not attached yet
			in.documents.paused(e)
		default:
			s.Start(ctx, "Fetch.failRequest", map[string]any{"requestId": e.RequestID, "errorReason": network.ErrorReasonBlockedByClient})
		}
	})
}

// all returns the instances in the browser.
func (b *pooledBrowser) all() []*instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.instances))
}

// release removes an instance from the browser.
func (b *pooledBrowser) release(in *instance) {
	b.mu.Lock()
	delete(b.instances, in.contextID)
	b.mu.Unlock()
	b.leave()
}

// join opens a browser context for an instance in a browser of the pool.
func (p *Pool) join(ctx context.Context, in *instance) error {
	b, err := p.acquire(ctx, in.opts)
	if err != nil {
		return err
	}
	in.pooled, in.conn, in.proc, in.version = b, b.conn, b.proc, b.proc.Version
	if in.proxy, err = startProxy(b.port, in.opts); err != nil {
		return err
	}
	if err := in.createContext(ctx, in.proxy); err != nil {
		return err
	}
	b.mu.Lock()
	b.instances[in.contextID] = in
	b.mu.Unlock()
	return in.downloads.watch(ctx)
}

// disposeContext disposes of the browser context of an instance, with its tabs.
func (b *pooledBrowser) disposeContext(in *instance) {
	defer in.endOnce.Do(func() { close(in.ended) })
	if in.contextID == "" || in.evicted.Load() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.DisposeContext)
	defer cancel()
	err := in.browserContext.dispose(ctx, &in.work)
	for _, t := range in.Tabs() {
		select {
		case <-t.Page.Gone():
		case <-ctx.Done():
			err = errors.Join(err, context.Cause(ctx))
		}
	}
	b.mu.Lock()
	delete(b.instances, in.contextID)
	shared := len(b.instances) > 0
	b.mu.Unlock()
	down := b.ping(in.opts.timing)
	if down != nil && shared && in.conn.Err() == nil {
		// The browser may respond again when it has closed the pages of this context.
		b.retire()
		in.dropTabs(executor.Errorf(executor.ErrTargetGone, "", "the session was closed"))
		down = b.ping(in.opts.timing)
	}
	switch {
	case in.conn.Err() != nil: // the browser has exited
	case down != nil:
		in.backend.log.Warn("the browser does not respond; terminating it", "error", down)
		in.conn.Close()
	case err != nil: // the browser ends with its other contexts
		in.backend.log.Warn("the browser did not close a browser context", "error", err)
		b.retire()
	}
}

// ping checks that the browser responds. The events before the reply have been handled then.
func (b *pooledBrowser) ping(limits timing.Timing) error {
	ctx, cancel := context.WithTimeout(context.Background(), limits.DisposeContext)
	defer cancel()
	return b.conn.BrowserSession().Call(ctx, "Browser.getVersion", nil, nil)
}
