// Package record records what a page logs and requests, and what its documents are responses to.
package record

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// Limits of the activity log, in addition to executor.MaxRecords.
const (
	maxRecordBytes = 256 << 10 // of each of the three rings, in bytes
	maxRecordText  = 2000      // characters of one message, error or URL
	bodyBuffer     = 8 << 20   // bytes of response bodies that the browser retains per process
	maxKeptBody    = 1 << 20   // bytes of one response body that the browser retains
)

// Options are the options of [New].
type Options struct {
	// Popup means that a page opened the tab, so that the browser does not report its first
	// request.
	Popup bool
	// On starts recording immediately, before a client calls Start.
	On bool
	// Paused means that the tab is handed over to the user.
	Paused bool
	Tree   *frames.Tree
	Timing timing.Timing
	// DeniedByProxy reports whether the egress proxy denied its last request to the host of url. Nil
	// means that there is no proxy.
	DeniedByProxy func(url string) bool
}

// A Recorder records the console messages, uncaught errors and requests of a tab while a client
// wants that. It is safe for concurrent use.
type Recorder struct {
	popup  bool
	tree   *frames.Tree
	timing timing.Timing
	denied func(url string) bool // Options.DeniedByProxy

	mu      sync.Mutex   // guards the fields below and the log
	log     *activityLog // nil while nothing is recorded
	clients int          // that want the log
	paused  bool         // the tab is handed over to the user
	// private is the time of the newest console message or error during a handover. The browser
	// reports those up to then again when the tab is attached.
	private runtime.Timestamp
}

// New returns a recorder of a tab.
func New(o Options) *Recorder {
	r := &Recorder{popup: o.Popup, tree: o.Tree, timing: o.Timing, denied: o.DeniedByProxy, paused: o.Paused}
	if o.On {
		r.log = newActivityLog()
	}
	return r
}

// Start starts recording for a client. Stop must be called as often as Start.
func (r *Recorder) Start() {
	if !r.start() || !r.tree.Attached() {
		return
	}
	for _, s := range r.tree.Sessions() {
		if _, err := s.Start(context.Background(), "Network.enable", r.NetworkParams()); err != nil {
			r.tree.Log().Debug("retaining response bodies", "error", err)
		}
	}
}

// start counts a client, and reports whether nothing was recorded before.
func (r *Recorder) start() (started bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients++
	if r.log != nil {
		return false
	}
	r.log = newActivityLog()
	return true
}

// Stop ends the recording for a client. The log is dropped when no client is left.
func (r *Recorder) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients--; r.clients <= 0 {
		r.clients, r.log = 0, nil
	}
}

// On reports whether the activity of the tab is recorded.
func (r *Recorder) On() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log != nil
}

// update calls f with the log, which is locked, if the activity of the tab is recorded and the tab
// is not handed over.
func (r *Recorder) update(f func(*activityLog)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log != nil && !r.paused {
		f(r.log)
	}
}

// accepts reports whether a console message or error with the time at may be recorded. None of a
// handover is recorded, not even later.
func (r *Recorder) accepts(at runtime.Timestamp) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused {
		r.private = max(r.private, at)
	}
	return r.log != nil && at > r.private
}

// Pause stops recording during a handover. Pending requests count as ended. Objects in messages are
// not read later, because they may then contain what the user did.
func (r *Recorder) Pause() {
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

// Resume undoes Pause.
func (r *Recorder) Resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = false
}

// An activityLog contains the console messages, uncaught errors and requests of a tab.
type activityLog struct {
	console  ring[consoleRecord]
	errors   ring[errorRecord]
	requests ring[*RequestRecord]
	running  map[network.RequestID]*RequestRecord // pending requests, the newest for each id
	newest   runtime.Timestamp                    // time of the newest console message or error
	seen     runtime.Timestamp                    // newest when the tab was last detached; older messages and errors are duplicates
}

func newActivityLog() *activityLog {
	return &activityLog{running: make(map[network.RequestID]*RequestRecord)}
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
	path   []*frames.Document // the document of the item and the documents around it; nil means unknown; see Visibility.Records
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

// Lost counts events that were dropped before they could be decoded.
func (r *Recorder) Lost(ev cdpconn.Event) {
	r.update(func(l *activityLog) {
		switch ev.Method {
		case "Runtime.consoleAPICalled":
			l.console.skip(ev.Lost)
		case "Runtime.exceptionThrown":
			l.errors.skip(ev.Lost)
		}
	})
}

// NetworkParams returns the parameters of Network.enable. The browser retains response bodies only
// while the tab is recording.
func (r *Recorder) NetworkParams() map[string]any {
	total, each := 0, 0
	if r.On() {
		total, each = bodyBuffer, maxKeptBody
	}
	return map[string]any{"maxTotalBufferSize": total, "maxResourceBufferSize": each}
}

// Detached is called when the tab is detached. It marks pending requests as ended, and the recorded
// messages and errors as seen, because the browser reports them again when the tab is attached.
func (r *Recorder) Detached() { r.update((*activityLog).detached) }

// AttachUnanswered is called when the page did not respond in time while the tab was being attached.
// It marks the recorded messages and errors as seen, as Detached does. The browser is attached, so it
// reports the ends of pending requests.
func (r *Recorder) AttachUnanswered() { r.update(func(l *activityLog) { l.seen = l.newest }) }

func (l *activityLog) detached() {
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

// A Visibility says what a client may receive of the records.
type Visibility struct {
	// Records reports whether a record may be returned. path is the document that it is from and
	// the documents around it; nil means that they are not known.
	Records func(path []*frames.Document) bool
	// URL reports whether a URL may be returned. If not, only its origin is returned.
	URL func(url string) bool
	// Load reports whether the policy lets a page load a URL that may not be returned.
	Load func(url string) bool
	// Documents returns the documents that may be read now.
	Documents func() []*frames.Document
}

// newestOf returns the last limit items of list. If limit is not positive, executor.DefaultRecords
// is the limit.
func newestOf[T any](list []T, limit int) []T {
	if limit <= 0 {
		limit = executor.DefaultRecords
	}
	return list[max(len(list)-limit, 0):]
}
