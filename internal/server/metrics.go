package server

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// durationBuckets are the upper bounds of the histogram of call durations, in seconds. A call
// lasts from a few milliseconds to its deadline.
var durationBuckets = [...]float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// Metrics counts calls and requests. The zero value is ready to use. Its methods are safe for
// concurrent use.
type Metrics struct {
	mu       sync.Mutex            // guards the fields below
	calls    map[[2]string]uint64  // by tool and code
	duration map[string]*histogram // by tool
	requests map[[2]string]uint64  // by route and status
	rejected map[string]uint64     // by reason
}

// A histogram counts durations.
type histogram struct {
	buckets [len(durationBuckets)]uint64 // not cumulative
	count   uint64
	sum     float64 // seconds
}

// Recorder returns a recorder that counts the calls among the entries, and passes all entries on to
// next, which may be nil.
func (m *Metrics) Recorder(next audit.Recorder) audit.Recorder { return &callCounter{m, next} }

type callCounter struct {
	metrics *Metrics
	next    audit.Recorder
}

// Ready implements audit.Recorder.
func (c *callCounter) Ready() error {
	if c.next == nil {
		return nil
	}
	return c.next.Ready()
}

// Record implements audit.Recorder.
func (c *callCounter) Record(e audit.Entry) {
	// A command of a CDP client does not count as a tool call.
	if e.Event == audit.EventCall && !strings.HasPrefix(e.Tool, audit.CDPTool) {
		c.metrics.call(e.Tool, e.Code, time.Duration(e.DurationMS)*time.Millisecond)
	}
	if c.next != nil {
		c.next.Record(e)
	}
}

func (m *Metrics) call(tool, code string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.calls, [2]string{tool, code})
	h := m.duration[tool]
	if h == nil {
		h = new(histogram)
		if m.duration == nil {
			m.duration = map[string]*histogram{}
		}
		m.duration[tool] = h
	}
	h.count++
	h.sum += took.Seconds()
	if i, _ := slices.BinarySearch(durationBuckets[:], took.Seconds()); i < len(h.buckets) {
		h.buckets[i]++
	}
}

// request counts a request. route is the pattern of its handler.
func (m *Metrics) request(route string, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.requests, [2]string{cmp.Or(route, "none"), strconv.Itoa(status)})
}

// reject counts a request that no handler received.
func (m *Metrics) reject(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.rejected, reason)
}

// add increments a counter. Labels are from fixed sets, so their number is bounded.
func add[K comparable](counters *map[K]uint64, labels K) {
	if *counters == nil {
		*counters = map[K]uint64{}
	}
	(*counters)[labels]++
}

// write writes the metrics in the text format of Prometheus, version 0.0.4.
func (m *Metrics) write(w http.ResponseWriter, sessions int) {
	var b bytes.Buffer
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	family("chrome_mcp_sessions", "gauge", "Open sessions.")
	fmt.Fprintf(&b, "chrome_mcp_sessions %d\n", sessions)
	m.mu.Lock()
	family("chrome_mcp_calls_total", "counter", "Tool calls that have ended.")
	for _, k := range sortedPairs(m.calls) {
		fmt.Fprintf(&b, "chrome_mcp_calls_total{tool=%q,code=%q} %d\n", k[0], k[1], m.calls[k])
	}
	const duration = "chrome_mcp_call_duration_seconds"
	family(duration, "histogram", "Duration of tool calls.")
	for _, tool := range slices.Sorted(maps.Keys(m.duration)) {
		h, sum := m.duration[tool], uint64(0)
		for i, n := range h.buckets {
			sum += n
			fmt.Fprintf(&b, "%s_bucket{tool=%q,le=\"%v\"} %d\n", duration, tool, durationBuckets[i], sum)
		}
		fmt.Fprintf(&b, "%s_bucket{tool=%q,le=\"+Inf\"} %d\n", duration, tool, h.count)
		fmt.Fprintf(&b, "%s_sum{tool=%q} %v\n%s_count{tool=%q} %d\n", duration, tool, h.sum, duration, tool, h.count)
	}
	family("chrome_mcp_http_requests_total", "counter", "HTTP requests that have ended.")
	for _, k := range sortedPairs(m.requests) {
		fmt.Fprintf(&b, "chrome_mcp_http_requests_total{route=%q,status=%q} %d\n", k[0], k[1], m.requests[k])
	}
	family("chrome_mcp_http_rejected_total", "counter", "HTTP requests that were rejected before routing.")
	for _, reason := range slices.Sorted(maps.Keys(m.rejected)) {
		fmt.Fprintf(&b, "chrome_mcp_http_rejected_total{reason=%q} %d\n", reason, m.rejected[reason])
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write(b.Bytes())
}

func sortedPairs(m map[[2]string]uint64) [][2]string {
	return slices.SortedFunc(maps.Keys(m),
		func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
}
