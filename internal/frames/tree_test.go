package frames

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A noObserver ignores what happens.
type noObserver struct{ Observer }

func (noObserver) FrameAdded(id, parent cdp.FrameID)                     {}
func (noObserver) FrameRemoved(id cdp.FrameID)                           {}
func (noObserver) DocumentDropped(id cdp.FrameID, navigation Navigation) {}

// offlineTree returns a tree without a browser, of which only the top frame is known.
func offlineTree(top cdp.FrameID) *Tree {
	return New(nil, top, noObserver{}, "", slog.New(slog.DiscardHandler), timing.Current())
}

func TestScriptError(t *testing.T) {
	var log strings.Builder
	d := New(nil, "T", nil, "", slog.New(slog.NewTextHandler(&log, nil)), timing.Current()).UnknownDocument("T")
	err := d.scriptError(&runtime.ExceptionDetails{Exception: &runtime.RemoteObject{
		Description: "RangeError: too deep\n    at mayGenerate (<anonymous>:5155:21)",
	}})
	if s := err.Error(); !strings.Contains(s, "RangeError: too deep") || strings.Contains(s, "mayGenerate") {
		t.Errorf("error: %q", s)
	}
	if !strings.Contains(log.String(), "mayGenerate") {
		t.Errorf("log: %q", log.String())
	}
}

// TestStartFunctionWhileLocked checks that StartFunction does not wait for the lock of the tree,
// not even in a frame whose CDP session has ended. It is called while locks are held that are
// acquired after it.
func TestStartFunctionWhileLocked(t *testing.T) {
	b := cdptest.New(nil)
	conn := cdpconn.New(b)
	b.Attach("", "T", "page")
	ev, err := conn.BrowserSession().Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	<-ev.Child.Gone()
	tree := New(ev.Child, "T", noObserver{}, "", slog.New(slog.DiscardHandler), timing.Current())
	s := tree.Lock()
	defer s.Unlock()
	d := tree.UnknownDocument("in T")
	d.Session = ev.Child
	done := make(chan error, 1)
	go func() {
		_, err := d.StartFunction(t.Context(), FunctionCall{Function: "function() {}"})
		done <- err
	}()
	if err := await.Receive(t, "StartFunction to return", done); executor.CodeOf(err) != executor.ErrTargetGone {
		t.Errorf("got %v, want TARGET_GONE", err)
	}
}

func TestInOrder(t *testing.T) {
	state := offlineTree("T").Lock()
	defer state.Unlock()
	for _, id := range []cdp.FrameID{"a", "b", "c"} {
		state.frameAttached(nil, id, "T")
	}
	state.frameAttached(nil, "in b", "b")
	state.dropFrame("a")
	state.frameAttached(nil, "d", "T") // must not get the number of an existing frame
	state.dropFrame("c")
	state.frameAttached(nil, "e", "T")
	state.frameMoved(nil, "f", "T") // known from its CDP session only, as in a restored document
	state.frameMoved(nil, "e", "T")
	seen := make(map[int64]bool)
	var got []string
	for _, f := range state.InOrder() {
		if seen[f.order] {
			t.Errorf("%s has the same number as another frame", f.id)
		}
		seen[f.order] = true
		got = append(got, string(f.id))
	}
	if s := strings.Join(got, ", "); s != "T, b, in b, d, e, f" {
		t.Errorf("order of the frames: %s", s)
	}
}

func TestManyFrames(t *testing.T) {
	state := offlineTree("T").Lock()
	defer state.Unlock()
	for i := range 5000 {
		state.frameAttached(nil, cdp.FrameID(fmt.Sprint(i)), "T")
	}
	start := time.Now()
	if n := len(state.InOrder()); n != 5001 {
		t.Errorf("%d frames", n)
	}
	if took := time.Since(start); tier.DeepEnabled() && took > time.Second {
		t.Errorf("took %v: probably quadratic in the number of frames", took)
	}
}

// A removals records the frames that were removed.
type removals struct {
	noObserver
	ids []string
}

func (r *removals) FrameRemoved(id cdp.FrameID) { r.ids = append(r.ids, string(id)) }

// TestSessionEnded checks that the frames in an out-of-process iframe are removed when its CDP session
// ends, and that the iframe and its siblings stay.
func TestSessionEnded(t *testing.T) {
	page, ended, inner := new(cdpconn.Session), new(cdpconn.Session), new(cdpconn.Session)
	var removed removals
	state := New(page, "T", &removed, "", slog.New(slog.DiscardHandler), timing.Current()).Lock()
	defer state.Unlock()
	state.frameMoved(ended, "iframe", "T")
	state.frameAttached(page, "sibling", "T")
	state.frameAttached(ended, "a", "iframe")
	state.frameAttached(ended, "b", "iframe")
	state.frameAttached(ended, "in b", "b")
	state.frameMoved(inner, "other site", "in b")
	state.frameMoved(ended, "unknown parent", "")

	state.sessionEnded(ended)
	var left []string
	for _, f := range state.InOrder() {
		left = append(left, string(f.id))
		if f.sess != page {
			t.Errorf("%s is not in the session of the page", f.id)
		}
	}
	if s := strings.Join(left, ", "); s != "T, iframe, sibling" || len(state.frames) != len(left) {
		t.Errorf("frames: %s, %d in total", s, len(state.frames))
	}
	slices.Sort(removed.ids)
	if s := strings.Join(removed.ids, ", "); s != "a, b, in b, other site, unknown parent" {
		t.Errorf("removed: %s", s)
	}
}

// TestDocumentError checks which of the browser's errors mean that the document no longer exists.
func TestDocumentError(t *testing.T) {
	for text, gone := range map[string]bool{
		"uniqueContextId not found":             true,
		"Cannot find context with specified id": true,
		"Execution context was destroyed.":      true,
		"Promise was collected":                 true,
		"Inspected target navigated or closed":  true,
		"Session with given id not found.":      true,
		"Could not compute box model.":          false,
		"Invalid parameters":                    false,
		"No node with given id found":           false,
		"Not attached to an active page":        false,
		"Internal error":                        false,
		"'Foo.bar' wasn't found":                false,
	} {
		err := documentError(&cdpconn.Error{Method: "Runtime.callFunctionOn", Code: -32000, Message: text})
		if got := strings.HasPrefix(err.Error(), ErrDocumentGone.Error()); got != gone || executor.CodeOf(err) != executor.ErrCDP {
			t.Errorf("%q: %v, code %s", text, err, executor.CodeOf(err))
		}
	}
}

func TestEffectiveOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.test":           "https://a.test",
		"http://127.0.0.1:8080":    "http://127.0.0.1:8080",
		"://":                      executor.OriginOpaque,
		"":                         executor.OriginOpaque,
		"null":                     executor.OriginOpaque,
		"file://":                  executor.OriginOpaque,
		"chrome://version":         executor.OriginOpaque,
		"chrome-extension://abcde": executor.OriginOpaque,
		"httpx://a.test":           executor.OriginOpaque,
	} {
		if got := effectiveOrigin(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
