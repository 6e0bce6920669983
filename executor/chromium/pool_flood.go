package chromium

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

const (
	// floodPing is how long a browser of a Pool may take to respond while its pages navigate. A browser
	// responds in milliseconds, and on a busy machine in a second.
	floodPing = 5 * time.Second
	// floodPause is the time between two checks.
	floodPause = time.Second
	// minFlood is how many navigations a browser context must have made in the meantime to be closed. A
	// page with 200 frames makes 400, because each counts when it starts and when it commits.
	minFlood = 500
)

// A floodWatch limits the checks of a browser to one at a time.
type floodWatch struct{ checking atomic.Bool }

// watchFlood checks that the browser responds. It is called when the browser reports the request
// for a document, and does not block. If the browser does not respond, and most of the navigations
// in the meantime were those of one browser context, watchFlood closes that context: Chromium
// handles the navigations of all contexts in one thread, so the other sessions would wait for it.
func (b *pooledBrowser) watchFlood() {
	if len(b.all()) < 2 || !b.flood.checking.CompareAndSwap(false, true) {
		return
	}
	b.work.Go(func() {
		defer b.flood.checking.Store(false)
		before := b.navigations()
		ctx, cancel := context.WithTimeout(context.Background(), floodPing)
		defer cancel()
		err := b.conn.BrowserSession().Call(ctx, "Browser.getVersion", nil, nil)
		if errors.Is(err, cdpconn.ErrCallTimeout) {
			if in := mostActive(before, b.navigations(), minFlood); in != nil {
				b.evict(in)
			}
			return
		}
		select {
		case <-time.After(floodPause):
		case <-b.conn.Done():
		}
	})
}

// navigations returns the number of navigations in the tabs of each instance.
func (b *pooledBrowser) navigations() map[*instance]int64 {
	counts := make(map[*instance]int64)
	for _, in := range b.all() {
		counts[in] = 0
		for _, t := range in.Tabs() {
			counts[in] += t.Page.Session().Navigations()
		}
	}
	return counts
}

// mostActive returns the key of more than half of the increases from before to after, and of at least
// atLeast, or the zero value if there is none. A key that is new counts from 0.
func mostActive[K comparable](before, after map[K]int64, atLeast int64) (most K) {
	var total, largest int64
	for k, n := range after {
		n = max(n-before[k], 0) // tabs that were closed no longer count
		total += n
		if n > largest {
			most, largest = k, n
		}
	}
	if 2*largest > total && largest >= atLeast {
		return most
	}
	var none K
	return none
}

// evict closes the browser context of an instance, whose pages keep the browser from responding.
// Its calls return immediately. The browser closes the pages when it responds again.
func (b *pooledBrowser) evict(in *instance) {
	reason := executor.Errorf(executor.ErrTargetGone, "Open the pages again in a new tab, except the one that reloads its frames all the time.",
		"the tabs of this session were closed: their pages navigated so often that the browser did not respond")
	if !in.evicted.CompareAndSwap(nil, reason) {
		return
	}
	in.backend.log.Warn("a browser context keeps the browser from responding; closing it")
	b.mu.Lock()
	delete(b.instances, in.contextID)
	b.mu.Unlock()
	b.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), in.opts.timing.BrowserExit)
		defer cancel()
		b.work.Go(func() { cdpconn.ClosePages(ctx, in.conn, in.contextID) })
		_ = in.conn.BrowserSession().Call(ctx, "Target.disposeBrowserContext", map[string]any{"browserContextId": in.contextID}, nil)
	})
	in.dropTabs(reason)
	in.endOnce.Do(func() { close(in.ended) })
}

// dropTabs ends the CDP sessions of the tabs here, without waiting for the browser.
func (in *instance) dropTabs(reason error) {
	for _, t := range in.Tabs() {
		s := t.Page.Session()
		s.End(reason)
		in.detached(s)
	}
}
