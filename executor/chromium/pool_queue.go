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
		return b.key == key && b.users < maxContexts && !b.isSpent() && !b.hasExited()
	})
	var b *pooledBrowser
	switch {
	case i >= 0:
		b = p.browsers[i]
	case p.isNext(w) && p.hasSpace(w):
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

// isSpent reports whether the browser accepts no further contexts, even if it has few. pool.mu must be
// held.
func (b *pooledBrowser) isSpent() bool { return b.retired || b.created >= maxContextsCreated }

// hasSpace reports whether another browser may run for w. To make space, it ends a browser without
// users, or otherwise a spent one; see spentFor. p.mu must be held.
func (p *Pool) hasSpace(w *browserWaiter) bool {
	if len(p.browsers) < p.maxBrowsers() {
		return true
	}
	i := slices.IndexFunc(p.browsers, func(b *pooledBrowser) bool { return b.users == 0 && !b.hasExited() })
	if i < 0 {
		i = p.spentFor(w)
	}
	if i < 0 {
		return false
	}
	old := p.browsers[i]
	if old.idle != nil {
		old.idle.Stop()
	}
	old.forget()
	p.running.Go(old.end)
	return true
}

// spentFor returns the index of a spent browser that ends, with its tabs, because w is of a principal
// without a browser and that of the spent one has others; or -1. A principal whose pages make browsers
// unusable, and which keeps a context in each, could otherwise occupy all browsers. The
// operating-system user is not limited by those with tokens. p.mu must be held.
func (p *Pool) spentFor(w *browserWaiter) int {
	of := p.browsersByPrincipal()
	if of[w.principal] > 0 {
		return -1
	}
	i := slices.IndexFunc(p.browsers, func(b *pooledBrowser) bool {
		return b.isSpent() && of[b.key.principal] > 1 && b.key.principal != ""
	})
	if i >= 0 {
		p.browsers[i].log.Warn("ending a browser that accepts no further sessions, for a client without one",
			"principal", p.browsers[i].key.principal)
	}
	return i
}

// browsersByPrincipal returns the number of browsers of each principal. p.mu must be held.
func (p *Pool) browsersByPrincipal() map[string]int {
	of := make(map[string]int)
	for _, b := range p.browsers {
		of[b.key.principal]++
	}
	return of
}

// isNext reports whether w comes before the other waiters: no principal of another one has fewer
// browsers, and the others whose principals have as many arrived later. p.mu must be held.
func (p *Pool) isNext(w *browserWaiter) bool {
	browsers := p.browsersByPrincipal()
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
