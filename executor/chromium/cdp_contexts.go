package chromium

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto/target"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// maxPages limits the pages whose context cdpClients stores.
const maxPages = 1000

// cdpClients contains what belongs to the CDP clients of an instance.
type cdpClients struct {
	in        *instance
	connected atomic.Int32 // number of clients
	// pages has the id of the context of the last pages of clients, by the id of the page, which is that
	// of its top frame.
	pages   *lru.Cache[target.ID, string]
	results *lru.Cache[string, *downloadResult] // by GUID

	mu       sync.Mutex // guards contexts
	contexts map[string]*clientContext
}

func newCDPClients(in *instance) *cdpClients {
	return &cdpClients{
		in:    in,
		pages: newCache[target.ID, string](maxPages), results: newCache[string, *downloadResult](maxDownloadResults),
		contexts: make(map[string]*clientContext),
	}
}

// newCache returns a cache for the latest entries, up to size, which is at least 1.
func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, _ := lru.New[K, V](size) // fails only for a size below 1
	return c
}

// A clientContext is a browser context that a client created.
type clientContext struct {
	storing   sync.Mutex // held while a page stores the proxy's credentials
	downloads sync.Once  // calls downloads.watchContext

	mu      sync.Mutex         // guards the fields below
	stored  bool               // the browser has stored the proxy's credentials
	done    chan struct{}      // closed when the credentials are stored, or when all waiting pages have failed
	waiting map[target.ID]bool // pages that wait for the credentials
}

// context returns the context with an id, which need not exist in the browser yet.
func (cs *cdpClients) context(id string) *clientContext {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.contexts[id]
	if c == nil {
		c = &clientContext{done: make(chan struct{}), waiting: make(map[target.ID]bool)}
		cs.contexts[id] = c
	}
	return c
}

// contextIDs returns the ids of the known contexts.
func (cs *cdpClients) contextIDs() []string {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Keys(cs.contexts))
}

// retain forgets the contexts that are not in ids. It reports whether none is left.
func (cs *cdpClients) retain(ids []string) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	maps.DeleteFunc(cs.contexts, func(id string, _ *clientContext) bool { return !slices.Contains(ids, id) })
	return len(cs.contexts) == 0
}

// browserContexts returns the ids of the default browser context and of the others.
func browserContexts(ctx context.Context, conn *cdpconn.Conn) (defaultID string, others []string, err error) {
	var res struct {
		Others  []string `json:"browserContextIds"`
		Default string   `json:"defaultBrowserContextId"`
	}
	err = conn.BrowserSession().Call(ctx, "Target.getBrowserContexts", nil, &res)
	if err == nil && res.Default == "" {
		err = executor.Errorf(executor.ErrLaunchFailed, "Use a newer browser.", "the browser does not name its default browser context")
	}
	return res.Default, res.Others, err
}

// forgetDisposed forgets the browser contexts that were disposed of, and ends their downloads: the
// browser does not report the end of those in a context that ended with its client. A download of
// unknown context ends with the last context.
func (cs *cdpClients) forgetDisposed(ctx context.Context) {
	_, ids, err := browserContexts(ctx, cs.in.conn)
	if err != nil {
		return
	}
	none := cs.retain(ids)
	cs.in.downloads.failClients("browser context was disposed of", func(d *clientDownload) bool {
		return none || d.context != "" && !slices.Contains(ids, d.context)
	})
}

// own reports whether a page is in a browser context that a client created.
func (cs *cdpClients) own(info *target.Info) bool {
	return cs.in.opts.CDPClients && string(info.BrowserContextID) != cs.in.defaultContext
}

// pageAttached resumes a page in a context of a client once the browser has stored the credentials
// of the egress proxy for the context. Each context has separate credentials. Until then, the
// requests for documents of the page are paused: Chromium starts to load the URL of
// Target.createTarget even in a page that waits for the debugger (measured on Chromium 156).
func (cs *cdpClients) pageAttached(s *cdpconn.Session, info *target.Info) {
	id := string(info.BrowserContextID)
	cs.pages.Add(info.TargetID, id)
	cs.in.downloads.watchContext(id)
	c := cs.context(id)
	if !cs.in.filtered() || !c.begin(info.TargetID) {
		cs.in.releaseTarget(s)
		return
	}
	cs.in.work.Go(func() {
		c.storing.Lock()
		ctx, cancel := context.WithTimeout(context.Background(), cs.in.opts.timing.ProxyRequest)
		defer cancel()
		var err error
		if !c.hasCredentials() { // another page of the context has not stored them
			_, err = answerProxyChallenge(ctx, s, cs.in.proxy.Credentials())
		}
		c.end(info.TargetID, err == nil)
		c.storing.Unlock()
		if err == nil {
			cs.in.releaseTarget(s)
			return
		}
		cs.in.backend.log.Warn("a client's page does not use the egress proxy; closing it", "error", err)
		cs.in.conn.BrowserSession().Start(context.Background(), "Target.closeTarget", map[string]any{"targetId": info.TargetID})
	})
}

// begin records that a page of the context was attached. It reports whether the credentials must be
// stored first; end must then be called.
func (c *clientContext) begin(id target.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stored {
		return false
	}
	if len(c.waiting) == 0 && notify.IsClosed(c.done) {
		c.done = make(chan struct{})
	}
	c.waiting[id] = true
	return true
}

// end records whether the browser has stored the credentials in a page for which begin returned true.
func (c *clientContext) end(id target.ID, stored bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = c.stored || stored
	delete(c.waiting, id)
	if (c.stored || len(c.waiting) == 0) && !notify.IsClosed(c.done) {
		close(c.done)
	}
}

func (c *clientContext) hasCredentials() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored
}

// credentialsDone returns the channel that is closed when the first page that waits for the
// credentials has them, or all have failed.
func (c *clientContext) credentialsDone() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// credentialsDone returns the channel of the context of a page that waits for the credentials, or
// nil if it does not wait.
func (cs *cdpClients) credentialsDone(id target.ID) <-chan struct{} {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.contexts {
		c.mu.Lock()
		found, done := c.waiting[id], c.done
		c.mu.Unlock()
		if found {
			return done
		}
	}
	return nil
}
