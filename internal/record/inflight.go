package record

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/internal/redact"
)

// Inflight counts the requests of a tab that are in flight. It is safe for concurrent use.
//
// Chromium does not report the end of a fetch whose response has Cache-Control: no-store and that
// no script reads (measured on Chromium 156). So such a fetch counts only while it receives data.
// This also ends the wait for one whose body pauses longer than Quiet.
type Inflight struct {
	// Quiet is the time without requests and data after which the network is idle, and that without
	// data after which such a fetch no longer counts.
	Quiet time.Duration

	mu      sync.Mutex // guards the fields below
	seq     int        // sequence number of the newest request
	ended   int        // number of requests that have ended
	pending map[network.RequestID]pendingRequest
	changed time.Time // when the last request started or ended, or a request received data
}

// A pendingRequest is a request in flight and the document that it belongs to.
type pendingRequest struct {
	seq      int
	frame    cdp.FrameID // may be empty
	loader   cdp.LoaderID
	received time.Time // when a fetch whose end may not be reported last received data; else zero
}

// maxPending is the maximum number of requests that are tracked at the same time.
const maxPending = 2000

// Sent records a request.
func (reqs *Inflight) Sent(e network.EventRequestWillBeSent) {
	switch e.Type {
	case network.ResourceTypeWebSocket, network.ResourceTypeEventSource, network.ResourceTypePing,
		network.ResourceTypeMedia, network.ResourceTypePrefetch, network.ResourceTypeCSPViolationReport:
		return // these may stay open indefinitely, or a page does not depend on them
	}
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	if _, ok := reqs.pending[e.RequestID]; ok {
		return // a redirect of the same request
	}
	reqs.seq++
	reqs.changed = time.Now()
	if reqs.pending == nil {
		reqs.pending = make(map[network.RequestID]pendingRequest)
	}
	if len(reqs.pending) >= maxPending {
		maps.DeleteFunc(reqs.pending, func(_ network.RequestID, r pendingRequest) bool { return !reqs.inFlight(r) })
	}
	if len(reqs.pending) < maxPending {
		reqs.pending[e.RequestID] = pendingRequest{seq: reqs.seq, frame: e.FrameID, loader: e.LoaderID}
	}
}

// Responded records the response of a request.
func (reqs *Inflight) Responded(e network.EventResponseReceived) {
	if e.Type != network.ResourceTypeFetch || e.Response == nil ||
		!strings.Contains(strings.ToLower(redact.Headers(e.Response.Headers)["cache-control"]), "no-store") {
		return
	}
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	reqs.receive(e.RequestID)
}

// inFlight reports whether a pending request counts. reqs.mu must be held.
func (reqs *Inflight) inFlight(r pendingRequest) bool {
	return r.received.IsZero() || time.Since(r.received) < reqs.Quiet
}

// ReceivedData records that a request has received data.
func (reqs *Inflight) ReceivedData(id network.RequestID) {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	if !reqs.pending[id].received.IsZero() {
		reqs.receive(id)
	}
}

// receive records that a fetch whose end may not be reported has received its response or data.
// reqs.mu must be held.
func (reqs *Inflight) receive(id network.RequestID) {
	if r, ok := reqs.pending[id]; ok {
		reqs.changed = time.Now()
		r.received = reqs.changed
		reqs.pending[id] = r
	}
}

// Done records the end of a request.
func (reqs *Inflight) Done(id network.RequestID) {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	if _, ok := reqs.pending[id]; ok {
		delete(reqs.pending, id)
		reqs.ended++
		reqs.changed = time.Now()
	}
}

// Clear forgets the requests in flight. Others may be in flight that are not known.
func (reqs *Inflight) Clear() {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	clear(reqs.pending)
	reqs.changed = time.Now()
}

// Forget forgets the requests of documents of a frame that are gone, because the browser does not
// report the end of all of them. keep are the loaders of the documents that remain.
func (reqs *Inflight) Forget(frame cdp.FrameID, keep ...cdp.LoaderID) {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	maps.DeleteFunc(reqs.pending, func(_ network.RequestID, r pendingRequest) bool {
		return r.frame == frame && (r.loader == "" || !slices.Contains(keep, r.loader))
	})
}

// Counts returns the sequence number of the newest request and the number of requests that have
// ended.
func (reqs *Inflight) Counts() (seq, ended int) {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	return reqs.seq, reqs.ended
}

// IdleIn returns after what time the network will have been idle for reqs.Quiet if no request
// starts or receives data: at most 0 if it was. ok is false if a request is in flight whose end is
// reported.
func (reqs *Inflight) IdleIn() (left time.Duration, ok bool) {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	for _, r := range reqs.pending {
		if r.received.IsZero() {
			return 0, false
		}
	}
	return reqs.Quiet - time.Since(reqs.changed), true
}

// Since returns the number of requests in flight that started after request seq. It can fall
// without an event, when a fetch no longer counts.
func (reqs *Inflight) Since(seq int) int {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	n := 0
	for _, r := range reqs.pending {
		if r.seq > seq && reqs.inFlight(r) {
			n++
		}
	}
	return n
}

// Requests returns the ids of the requests that are stored, in any order.
func (reqs *Inflight) Requests() []network.RequestID {
	reqs.mu.Lock()
	defer reqs.mu.Unlock()
	return slices.Collect(maps.Keys(reqs.pending))
}
