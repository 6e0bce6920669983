package chromium

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// maxFloodGrowth is the maximum growth of this process's memory, in MiB, regardless of what a page
// logs or returns. A response of 64 MiB is copied when it is read, decoded and returned, and the
// garbage collector lets the heap double.
const maxFloodGrowth = 400

// TestFlood checks that messages of a page over the limits are not stored, that
// other tabs respond during the flood, and that the tab works afterwards.
func TestFlood(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>flood</title><p>here"))
	}))
	t.Cleanup(site.Close)
	for name, attached := range map[string]bool{"launched": false, "attached": true} {
		t.Run(name, func(t *testing.T) {
			if attached { // by another transport, with the same limits
				tier.Deep(t)
			}
			// The browser needs time for the messages of the page.
			ctx, cancel := context.WithTimeout(t.Context(), 3*await.HangLimit)
			defer cancel()
			o := testOptions(t)
			if attached {
				_, o.CDPEndpoint = startForeign(t, t.TempDir())
			}
			b := newBrowser(t, o)
			s, other := newSession(t, b), newSession(t, b)
			for s, url := range map[executor.Executor]string{s: site.URL, other: strings.Replace(site.URL, "127.0.0.1", "localhost", 1)} {
				if _, err := s.Navigate(ctx, url, nil); err != nil {
					t.Fatal(err)
				}
			}
			works := func(s executor.Executor, what string) {
				t.Helper()
				got, err := pagetest.Of(s, "").Eval(ctx, "document.querySelector('p').textContent", nil)
				if err != nil || string(got.Value) != `"here"` {
					t.Fatalf("%s: %v", what, err)
				}
			}
			before := testlog.ResetPeakMemory(t)
			dropped := int64(0)
			for _, f := range []struct {
				what, script string
				dropped      int64
				deep         bool
			}{
				{"a long console message", "console.log('x'.repeat(9e6), 'x'.repeat(9e6))", 1, false},
				{"console messages below the limit", "for (let i = 0; i < 8; i++) console.log('x'.repeat(6e6))", 0, true},
				{"a long error", "throw new Error('x'.repeat(9e6))", 1, false},
				{"a long title", "document.title = 'x'.repeat(9e6)", 0, false},
			} {
				if f.deep && !tier.DeepEnabled() {
					continue
				}
				if _, err := pagetest.Of(s, "").Eval(ctx, "setTimeout(() => { "+f.script+" }); 1", nil); err != nil {
					t.Fatalf("%s: %v", f.what, err)
				}
				works(other, "another tab during "+f.what)
				works(s, "the tab after "+f.what)
				dropped += f.dropped
				if n := running(b).conn.Dropped(); n < dropped {
					t.Errorf("after %s %d events were dropped, want at least %d", f.what, n, dropped)
				}
			}
			t.Logf("events: peak of %d MiB, %d before", testlog.PeakMemory(t), before)
			_, err := pagetest.Of(s, "").CDP(ctx, "Runtime.evaluate", json.RawMessage(`{"expression": "'x'.repeat(7e7)", "returnByValue": true}`))
			if executor.CodeOf(err) != executor.ErrCDP || !strings.Contains(err.Error(), "exceeds 64 MiB") {
				t.Errorf("an answer of 70 MB: %v", err)
			}
			works(s, "the tab after a long answer")
			t.Logf("an answer over the limit: peak of %d MiB", testlog.PeakMemory(t))
			if !tier.DeepEnabled() { // how fast the garbage is collected depends on the machine
				return
			}
			if _, err := pagetest.Of(s, "").Eval(ctx, "'x'.repeat(6e7)", nil); err != nil {
				t.Errorf("an answer of 60 MB: %v", err)
			}
			t.Logf("an answer below the limit: peak of %d MiB", testlog.PeakMemory(t))
			limit := maxFloodGrowth
			if testlog.RaceEnabled {
				limit *= 3
			}
			if grown := testlog.PeakMemory(t) - before; grown > limit {
				t.Errorf("this process took %d MiB more, want at most %d", grown, limit)
			}
		})
	}
}

func TestHugeValueMemory(t *testing.T) {
	tier.Deep(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>page</title>"))
	}))
	t.Cleanup(site.Close)
	for name, attached := range map[string]bool{"launched": false, "attached": true} {
		t.Run(name, func(t *testing.T) {
			o := fullOptions(t)
			if attached {
				_, o.CDPEndpoint = startForeign(t, t.TempDir())
			}
			s := newSession(t, newBrowser(t, o))
			if _, err := s.Navigate(t.Context(), site.URL, nil); err != nil {
				t.Fatal(err)
			}
			executortest.HugeValueMemory(t, s)
		})
	}
}
