package chromium

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
)

// DefaultMaxBrowsers is the default of Pool.MaxBrowsers.
const DefaultMaxBrowsers = 4

// poolQueueTimeout bounds the time that a call waits for a browser of a Pool. MCP hosts allow about
// one minute per call.
const poolQueueTimeout = 30 * time.Second

// A browserWaiter is a Backend that waits for a browser of a Pool.
type browserWaiter struct{ principal string }

// reserve adds a user to a browser with the given key, which it launches if that is necessary. If the
// pool has too many browsers, it waits.
func (p *Pool) reserve(ctx context.Context, key launchKey, opts Options) (*pooledBrowser, error) {
	w := &browserWaiter{key.principal}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting = slices.DeleteFunc(p.waiting, func(x *browserWaiter) bool { return x == w })
		p.changed.Notify()
	}()
	timeout := time.NewTimer(poolQueueTimeout)
	defer timeout.Stop()
	for {
		changed := p.changed.Changed()
		if b, err := p.tryReserve(ctx, w, key, opts); b != nil || err != nil {
			return b, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timeout.C:
			err := executor.Errorf(executor.ErrBackpressure, "Try again later. The user can allow more browsers with Pool.MaxBrowsers.",
				"all browsers of the server are in use; it may have %d", p.maxBrowsers())
			err.Retryable = true
			return nil, err
		}
	}
}

// tryReserve is reserve without waiting. It returns nil if w must wait.
func (p *Pool) tryReserve(ctx context.Context, w *browserWaiter, key launchKey, opts Options) (*pooledBrowser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, session.ErrClosed()
	}
	i := slices.IndexFunc(p.browsers, func(b *pooledBrowser) bool {
		return b.key == key && b.users < maxContexts && b.created < maxContextsCreated && !b.retired && !b.hasExited()
	})
	var b *pooledBrowser
	switch {
	case i >= 0:
		b = p.browsers[i]
	case p.isNext(w) && p.hasSpace():
		b = p.launch(ctx, key, opts)
	default:
		return nil, nil
	}
	b.users++
	b.created++
	if b.idle != nil {
		b.idle.Stop()
	}
	return b, nil
}

func (p *Pool) maxBrowsers() int { return cmp.Or(p.MaxBrowsers, DefaultMaxBrowsers) }

// hasSpace reports whether another browser may run. To make space, it ends a browser without users.
// p.mu must be held.
func (p *Pool) hasSpace() bool {
	if len(p.browsers) < p.maxBrowsers() {
		return true
	}
	i := slices.IndexFunc(p.browsers, func(b *pooledBrowser) bool { return b.users == 0 && !b.hasExited() })
	if i < 0 {
		return false
	}
	idle := p.browsers[i]
	if idle.idle != nil {
		idle.idle.Stop()
	}
	idle.forget()
	p.running.Go(idle.end)
	return true
}

// isNext reports whether w comes before the other waiters: no principal of another one has fewer
// browsers, and the others whose principals have as many arrived later. p.mu must be held.
func (p *Pool) isNext(w *browserWaiter) bool {
	browsers := make(map[string]int)
	for _, b := range p.browsers {
		browsers[b.key.principal]++
	}
	first := slices.MinFunc(p.waiting, func(a, b *browserWaiter) int { return browsers[a.principal] - browsers[b.principal] })
	return first == w
}

// launch starts a browser. p.mu must be held.
func (p *Pool) launch(ctx context.Context, key launchKey, opts Options) *pooledBrowser {
	b := &pooledBrowser{
		pool: p, key: key, log: cmp.Or(p.Logger, slog.New(slog.DiscardHandler)), started: make(chan struct{}), exited: make(chan struct{}),
		instances: map[string]*instance{},
	}
	p.browsers = append(p.browsers, b)
	opts.Logger = b.log
	start, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	run := p.run
	if run == nil {
		run = (*pooledBrowser).run
	}
	p.running.Go(func() {
		defer stop()
		defer close(b.exited)
		run(b, start, opts)
	})
	return b
}
