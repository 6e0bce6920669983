package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// median returns the median duration of n calls of f.
func median(n int, f func()) time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		start := time.Now()
		f()
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[n/2]
}

// TestCDPClientFlood checks that a page that logs and sends requests without limit, and a client that
// does not read what it enabled, neither delay other clients and sessions nor use much memory.
func TestCDPClientFlood(t *testing.T) {
	tier.Deep(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*await.HangLimit)
	defer cancel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>", r.URL.Path[1:])
	}))
	t.Cleanup(site.Close)
	b := cdpBrowser(t, "127.0.0.1", "localhost")
	reader, other := connectCDP(t, ctx, b), connectCDP(t, ctx, b)
	reader.discard.Store(true)
	stalled, err := b.ConnectCDP(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	s := newSession(t, b)
	nav, err := s.Navigate(ctx, strings.Replace(site.URL, "127.0.0.1", "localhost", 1)+"/tab", nil)
	if err != nil {
		t.Fatal(err)
	}
	quietPage, quietTarget := other.open("", strings.Replace(site.URL, "127.0.0.1", "localhost", 1)+"/quiet")
	other.title(quietPage, "quiet")
	page, target := reader.open("", site.URL+"/flood")
	reader.title(page, "flood")

	byClient := func() { other.eval(quietPage, "1") }
	bySession := func() {
		if _, err := pagetest.Of(s, nav.TabID).CDP(ctx, "Runtime.evaluate", json.RawMessage(`{"expression":"1"}`)); err != nil {
			t.Fatal(err)
		}
	}
	quietClient, quietSession := median(50, byClient), median(50, bySession)
	before := testlog.ResetPeakMemory(t)
	for _, method := range []string{"Runtime.enable", "Network.enable", "Log.enable", "Page.enable"} {
		reader.call(page, method, "", "")
	}
	// The stalled client enables the same. It reads only the ids of its sessions.
	id := int64(0)
	send := func(session, method, params string) {
		id++
		if err := stalled.Send(ctx, executor.CDPMessage{ID: id, SessionID: session, Method: method, Params: json.RawMessage(params)}); err != nil {
			t.Fatal(err)
		}
	}
	var sessions []string
	for _, target := range []string{target, quietTarget} {
		send("", "Target.attachToTarget", fmt.Sprintf(`{"targetId":%q,"flatten":true}`, target))
		m, err := stalled.Receive(ctx)
		for err == nil && m.Method != "Target.attachedToTarget" {
			m, err = stalled.Receive(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, memberOf(m.Params, "sessionId"))
	}
	for _, method := range []string{"Runtime.enable", "Network.enable", "Page.enable"} {
		send(sessions[0], method, "")
	}
	send(sessions[1], "Runtime.addBinding", `{"name":"report"}`)
	reader.call(page, "Runtime.evaluate", `{"expression":"setInterval(() => { for (let i = 0; i < 3; i++) console.log('x'.repeat(60000)); fetch('/?' + 'y'.repeat(2000)).catch(() => {}); }, 50); 1"}`, "")

	for running(b).conn.Dropped() < 50 { // the flood is over the limits
		if byClient(); ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	floodClient, floodSession := median(200, byClient), median(200, bySession)
	t.Logf("client: %v quiet, %v during the flood; session: %v and %v", quietClient, floodClient, quietSession, floodSession)
	if floodClient > 10*max(quietClient, time.Millisecond) || floodSession > 10*max(quietSession, time.Millisecond) {
		t.Errorf("a flood delays others: client %v instead of %v, session %v instead of %v", floodClient, quietClient, floodSession, quietSession)
	}
	// Messages that may not be dropped end the client that does not read.
	ended := stalled.(*cdpClient).client.Done()
	other.eval(quietPage, "for (let i = 0; i < 20; i++) report('z'.repeat(2e6))")
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the client that does not read is still connected")
	}
	if _, err := stalled.Receive(ctx); executor.CodeOf(err) != executor.ErrBackpressure {
		t.Errorf("the client that does not read ended with %v", err)
	}
	byClient()
	peak := testlog.PeakMemory(t)
	t.Logf("memory: %d MiB before, peak of %d MiB; %d events dropped", before, peak, running(b).conn.Dropped())
	limit := before + 250
	if testlog.RaceEnabled {
		limit *= 3
	}
	if peak > limit {
		t.Errorf("memory grew from %d to %d MiB", before, peak)
	}
}
