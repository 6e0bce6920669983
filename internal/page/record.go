package page

import (
	"context"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// Bounds of a record, beside executor.MaxRecords.
const (
	maxRecordBytes = 256 << 10 // of each of its three rings
	maxRecordText  = 2000      // characters of one message, error or URL
	bodyBuffer     = 8 << 20   // what the browser keeps of bodies, for each process
	maxKeptBody    = 1 << 20   // and of one
)

// A record is what happened in a tab. Tab.mu guards it. Its methods do nothing
// when it is nil.
type record struct {
	console  ring[consoleRecord]
	errors   ring[errorRecord]
	requests ring[*requestRecord]
	running  map[network.RequestID]*requestRecord // the newest with that id
	newest   runtime.Timestamp                    // of console messages and errors
	seen     runtime.Timestamp                    // up to here they were told before the tab was attached to anew
}

func newRecord() *record {
	return &record{running: make(map[network.RequestID]*requestRecord)}
}

// A ring keeps the newest of what is put into it.
type ring[T any] struct {
	items []numbered[T]
	last  int // number of the newest
	bytes int
}

type numbered[T any] struct {
	item   T
	number int
	bytes  int
	path   []*document // whose it is, and those that it is in; nil while that is not known; see View.mayTell
}

// put adds an item. It returns what there is no more room for.
func (r *ring[T]) put(item T, bytes int, path []*document) (dropped []T) {
	bytes += 200 // that it takes besides
	r.last++
	r.bytes += bytes
	r.items = append(r.items, numbered[T]{item, r.last, bytes, path})
	for len(r.items) > executor.MaxRecords || r.bytes > maxRecordBytes {
		dropped = append(dropped, r.items[0].item)
		r.bytes -= r.items[0].bytes
		r.items[0] = numbered[T]{}
		r.items = r.items[1:]
	}
	return dropped
}

// skip counts n items that were dropped before they were added.
func (r *ring[T]) skip(n int) { r.last += n }

// droppedSince counts the items after a number that there was no room for.
func (r *ring[T]) droppedSince(number int) int {
	n := r.last - number
	for _, e := range r.items {
		if e.number > number {
			n--
		}
	}
	return max(n, 0)
}

// Record has the tab keep what happens in it, until StopRecording was called as
// often.
func (t *Tab) Record() {
	t.mu.Lock()
	t.recorders++
	fresh := t.record == nil
	if fresh {
		t.record = newRecord()
	}
	var list []*cdpconn.Session
	if fresh && !t.asleep {
		list = t.sessions()
	}
	t.mu.Unlock()
	for _, s := range list {
		if _, err := s.Start(context.Background(), "Network.enable", t.bodies()); err != nil {
			t.log.Debug("the bodies of responses are not kept", "error", err)
		}
	}
}

// StopRecording takes back one Record.
func (t *Tab) StopRecording() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recorders--; t.recorders <= 0 {
		t.recorders, t.record = 0, nil
	}
}

// lost counts events that were dropped before they could be decoded.
func (r *record) lost(ev cdpconn.Event) {
	switch {
	case r == nil:
	case ev.Method == "Runtime.consoleAPICalled":
		r.console.skip(ev.Lost)
	case ev.Method == "Runtime.exceptionThrown":
		r.errors.skip(ev.Lost)
	}
}

func (t *Tab) recording() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record != nil
}

// sessions returns those of the page and of its frames. t.mu must be held.
func (t *Tab) sessions() []*cdpconn.Session {
	list := []*cdpconn.Session{t.sess}
	seen := map[*cdpconn.Session]bool{t.sess: true}
	for _, f := range t.frames {
		if f.sess != nil && !seen[f.sess] {
			seen[f.sess] = true
			list = append(list, f.sess)
		}
	}
	return list
}

// bodies are the parameters of Network.enable: what the browser keeps of
// responses is for those who may ask for it.
func (t *Tab) bodies() map[string]any {
	total, each := 0, 0
	if t.recording() {
		total, each = bodyBuffer, maxKeptBody
	}
	return map[string]any{"maxTotalBufferSize": total, "maxResourceBufferSize": each}
}

// pause is for when the tab is not attached to any more: what is told anew
// when it is, is left out.
func (r *record) pause() {
	if r == nil {
		return
	}
	r.seen = r.newest
	for _, q := range r.running {
		q.Running, q.Error = false, "not followed to its end"
	}
	clear(r.running)
}

// again reports whether what happened at a time was told before.
func (r *record) again(at runtime.Timestamp) bool {
	if at <= r.seen {
		return true
	}
	r.newest = max(r.newest, at)
	return false
}

// path returns the document of f and those that it is in; nil when one of them
// is not known, so that nobody can decide whether it may be told of. t.mu must
// be held.
func (t *Tab) path(f *frame) []*document {
	var path []*document
	for ; f != nil; f = t.frames[f.parent] {
		d := t.documentOf(f)
		switch {
		case d != nil:
		case f.mainWorld == nil || f.sess == nil:
			return nil
		default: // what happened before the tab was attached to is told before our world is made
			if d = t.documentIn(f, f.mainWorld); d.url == "" {
				d.url = d.origin + "/"
			}
		}
		path = append(path, d)
	}
	if len(path) == 0 || !path[len(path)-1].top() {
		return nil
	}
	return path
}

// mayTell returns what decides whether records are told: by the documents that
// they are of, as these were then; one of which that is not known is not told. It
// asks the gate about each document once.
func (v *View) mayTell(ctx context.Context) func(path []*document) bool {
	type key struct{ world, url string }
	known := make(map[key]bool)
	return func(path []*document) bool {
		if path == nil {
			return false
		}
		for _, d := range path {
			k := key{d.world, d.url}
			ok, asked := known[k]
			if !asked {
				ok = v.check(ctx, d, executor.OpRead, "") == nil
				known[k] = ok
			}
			if !ok {
				return false
			}
		}
		return true
	}
}

// mayName returns what decides whether more than the origin of a URL is told.
func (v *View) mayName(ctx context.Context) func(url string) bool {
	known := make(map[string]bool)
	return func(url string) bool {
		ok, asked := known[url]
		if !asked {
			d := &document{tab: v.tab, frame: v.tab.main, url: url, origin: originOfURL(url)}
			ok = v.check(ctx, d, executor.OpList, "") == nil
			known[url] = ok
		}
		return ok
	}
}

// newestOf returns the last limit of list.
func newestOf[T any](list []T, limit int) []T {
	if limit <= 0 {
		limit = executor.DefaultRecords
	}
	return list[max(len(list)-limit, 0):]
}

// recordOf returns the top document, which must be allowed, and calls use with
// the record while nothing is added to it.
func (v *View) recordOf(ctx context.Context, use func(*record)) (*document, error) {
	d, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	v.tab.mu.Lock()
	defer v.tab.mu.Unlock()
	if v.tab.record != nil {
		use(v.tab.record)
	}
	return d, nil
}

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if r := []rune(s[:min(len(s), 4*limit)]); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
