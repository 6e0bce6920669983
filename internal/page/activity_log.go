package page

import (
	"context"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// Limits of the activity log, in addition to executor.MaxRecords.
const (
	maxRecordBytes = 256 << 10 // of each of the three rings, in bytes
	maxRecordText  = 2000      // characters of one message, error or URL
	bodyBuffer     = 8 << 20   // bytes of response bodies that the browser retains per process
	maxKeptBody    = 1 << 20   // bytes of one response body that the browser retains
)

// A recording holds the activity log of a tab while there are recorders. The zero value is ready to
// use. It is safe for concurrent use.
type recording struct {
	mu        sync.Mutex   // guards the fields below and the log
	log       *activityLog // nil while nothing is recorded
	recorders int
	paused    bool // the tab is handed over to the user
	// private is the time of the newest console message or error during a handover. The browser
	// reports those up to then again when the tab is attached.
	private runtime.Timestamp
}

// start adds a recorder, and reports whether that started the log.
func (r *recording) start() (started bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorders++
	if r.log != nil {
		return false
	}
	r.log = newActivityLog()
	return true
}

// stop removes a recorder. The log is dropped when no recorder is left.
func (r *recording) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorders--; r.recorders <= 0 {
		r.recorders, r.log = 0, nil
	}
}

// on reports whether the activity of the tab is recorded.
func (r *recording) on() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log != nil
}

// update calls f with the log, which is locked, if the activity of the tab is recorded and the tab
// is not handed over.
func (r *recording) update(f func(*activityLog)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log != nil && !r.paused {
		f(r.log)
	}
}

// accepts reports whether a console message or error with the time at may be recorded. None of a
// handover is recorded, not even later.
func (r *recording) accepts(at runtime.Timestamp) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused {
		r.private = max(r.private, at)
	}
	return r.log != nil && at > r.private
}

// pause stops recording during a handover. Pending requests count as ended. Objects in messages are
// not read later, because they may then contain what the user did.
func (r *recording) pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = true
	if r.log != nil {
		for i := range r.log.console.items {
			r.log.console.items[i].item.nested = nil
		}
		r.log.endRunning("the page was handed over to the user during the request")
	}
}

// unpause ends pause.
func (r *recording) unpause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = false
}

// An activityLog contains the console messages, uncaught errors and requests of a tab.
type activityLog struct {
	console  ring[consoleRecord]
	errors   ring[errorRecord]
	requests ring[*requestRecord]
	running  map[network.RequestID]*requestRecord // pending requests, the newest for each id
	newest   runtime.Timestamp                    // time of the newest console message or error
	seen     runtime.Timestamp                    // newest when the tab was last detached; older messages and errors are duplicates
}

func newActivityLog() *activityLog {
	return &activityLog{running: make(map[network.RequestID]*requestRecord)}
}

// A ring retains the newest items that are put into it.
type ring[T any] struct {
	items []numbered[T]
	last  int // number of the newest item
	bytes int
}

// A numbered is an item of a ring with its number and its size.
type numbered[T any] struct {
	item   T
	number int
	bytes  int
	path   []*frames.Document // the document of the item and the documents around it; nil means unknown; see View.visibilityFilter
}

// put adds an item of the given size. It returns the items that were dropped to make space.
func (r *ring[T]) put(item T, bytes int, path []*frames.Document) (dropped []T) {
	bytes += 200 // estimated overhead
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

// skip counts n items that were dropped before they were put into the ring.
func (r *ring[T]) skip(n int) { r.last += n }

// since returns the items after the given number, and how many of them were dropped.
func (r *ring[T]) since(number int) (items []numbered[T], dropped int) {
	for _, e := range r.items {
		if e.number > number {
			items = append(items, e)
		}
	}
	return items, max(r.last-number-len(items), 0)
}

// Record starts recording the activity of the tab. Recording stops when StopRecording has been
// called as often as Record.
func (t *Tab) Record() {
	if !t.recording.start() {
		return
	}
	if !t.Attached() {
		return
	}
	for _, s := range t.tree.Sessions() {
		if _, err := s.Start(context.Background(), "Network.enable", t.networkEnableParams()); err != nil {
			t.log.Debug("retaining response bodies", "error", err)
		}
	}
}

// StopRecording ends the recording that one call of Record started. The log is dropped when no
// recording is left.
func (t *Tab) StopRecording() { t.recording.stop() }

// lost counts events that were dropped before they could be decoded.
func (l *activityLog) lost(ev cdpconn.Event) {
	switch ev.Method {
	case "Runtime.consoleAPICalled":
		l.console.skip(ev.Lost)
	case "Runtime.exceptionThrown":
		l.errors.skip(ev.Lost)
	}
}

// networkEnableParams returns the parameters of Network.enable. The browser retains response bodies
// only while the tab is recording.
func (t *Tab) networkEnableParams() map[string]any {
	total, each := 0, 0
	if t.recording.on() {
		total, each = bodyBuffer, maxKeptBody
	}
	return map[string]any{"maxTotalBufferSize": total, "maxResourceBufferSize": each}
}

// pause is called when the tab is detached. It marks pending requests as ended, and the recorded
// messages and errors as seen, because the browser reports them again when the tab is attached.
func (l *activityLog) pause() {
	l.seen = l.newest
	l.endRunning("the tab was detached during the request")
}

// endRunning marks pending requests as ended with an error.
func (l *activityLog) endRunning(why string) {
	for _, q := range l.running {
		q.Running, q.Error = false, why
	}
	clear(l.running)
}

// alreadyRecorded reports whether a message or error with the time at was recorded before the tab
// was last detached.
func (l *activityLog) alreadyRecorded(at runtime.Timestamp) bool {
	if at <= l.seen {
		return true
	}
	l.newest = max(l.newest, at)
	return false
}

// visibilityFilter returns a function that reports whether a record may be returned to the client.
// The documents of the record must be known, and the gate must allow reading each of them with the
// URL that it had at that time. The function queries the gate once per document.
func (v *View) visibilityFilter(ctx context.Context) func(path []*frames.Document) bool {
	denied := cached(func(d frames.Document) bool { return v.check(ctx, &d, executor.OpRead, "") != nil })
	return func(path []*frames.Document) bool {
		return path != nil && !slices.ContainsFunc(path, func(d *frames.Document) bool { return denied(*d) })
	}
}

// urlVisibilityFilter returns a function that reports whether a URL may be returned to the client.
// If not, only its origin may be returned.
func (v *View) urlVisibilityFilter(ctx context.Context) func(url string) bool {
	return cached(func(url string) bool {
		d := v.tab.documentAt(url)
		return v.check(ctx, d, executor.OpList, "") == nil
	})
}

// cached returns a function that calls f once for each key.
func cached[K comparable](f func(K) bool) func(K) bool {
	known := make(map[K]bool)
	return func(k K) bool {
		ok, found := known[k]
		if !found {
			ok = f(k)
			known[k] = ok
		}
		return ok
	}
}

// newestOf returns the last limit items of list. If limit is not positive, executor.DefaultRecords
// is the limit.
func newestOf[T any](list []T, limit int) []T {
	if limit <= 0 {
		limit = executor.DefaultRecords
	}
	return list[max(len(list)-limit, 0):]
}

// recordOf returns the top document, which the gate must allow to be read. If the tab is recording,
// it calls use with the activity log, which is locked.
func (v *View) recordOf(ctx context.Context, use func(*activityLog)) (*frames.Document, error) {
	d, err := v.document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	v.tab.recording.update(use)
	return d, nil
}
