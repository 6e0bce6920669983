package page

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// TestRequestsOfGoneDocuments checks that the requests of a document end with it.
func TestRequestsOfGoneDocuments(t *testing.T) {
	tab := offlineTab("top")
	s := tab.tree.Lock()
	defer s.Unlock()
	send := func(id network.RequestID, frame cdp.FrameID, loader cdp.LoaderID) {
		tab.inflight.sent(network.EventRequestWillBeSent{RequestID: id, FrameID: frame, LoaderID: loader, Type: network.ResourceTypeFetch})
	}
	handle := func(method, params string, args ...any) {
		s.HandleEvent(cdpconn.Event{Session: tab.sess, Method: method, Params: fmt.Appendf(nil, params, args...)})
	}
	navigate := func(frame, parent cdp.FrameID, loader cdp.LoaderID) {
		handle("Page.frameNavigated", `{"frame":{"id":%q,"parentId":%q,"loaderId":%q,"url":"https://example.com/","domainAndRegistry":"","securityOrigin":"","mimeType":"","secureContextType":"Secure","crossOriginIsolatedContextType":"Isolated","gatedAPIFeatures":[]},"type":"Navigation"}`, frame, parent, loader)
	}
	want := func(ids ...network.RequestID) {
		t.Helper()
		if got := slices.Sorted(maps.Keys(tab.inflight.pending)); !slices.Equal(got, ids) {
			t.Errorf("in flight: %q, want %q", got, ids)
		}
	}
	navigate("top", "", "A")
	navigate("child", "top", "a")
	send("1", "top", "A")
	send("2", "child", "a")
	send("3", "", "A") // of a worker
	want("1", "2", "3")
	navigate("child", "top", "b")
	want("1", "3")
	send("4", "child", "b")
	handle("Page.frameDetached", `{"frameId":"child","reason":"remove"}`)
	want("1", "3")
	send("C", "top", "C") // a navigation that the document has started, before B is shown
	handle("Page.frameStartedNavigating", `{"frameId":"top","url":"https://example.com/","loaderId":"C","navigationType":"differentDocument"}`)
	send("5", "top", "B")
	navigate("top", "", "B")
	want("5", "C")
	navigate("top", "", "C")
	want("C")
	tab.inflight.done("C")
	want()
}

// TestFetchWithoutData checks that a fetch whose end may not be reported is in flight while it receives
// data, and any other request until its end.
func TestFetchWithoutData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const quiet = 500 * time.Millisecond
		tr := inflightRequests{quiet: quiet}
		want := func(what string, left time.Duration, ok bool, inFlight int) {
			t.Helper()
			gotLeft, gotOK := tr.idleIn()
			if n := tr.since(0); gotLeft != left || gotOK != ok || n != inFlight {
				t.Errorf("%s: idle in %v, %v, %d in flight, want %v, %v, %d", what, gotLeft, gotOK, n, left, ok, inFlight)
			}
		}
		tr.sent(network.EventRequestWillBeSent{RequestID: "fetch", Type: network.ResourceTypeFetch})
		tr.receivedData("fetch")
		time.Sleep(quiet)
		want("without a response", 0, false, 1)
		respond := func(id network.RequestID, kind network.ResourceType, cacheControl string) {
			tr.responded(network.EventResponseReceived{RequestID: id, Type: kind, Response: &network.Response{Headers: network.Headers{"cache-Control": cacheControl}}})
		}
		respond("fetch", network.ResourceTypeFetch, "private, No-Store")
		want("with a response", quiet, true, 1)
		time.Sleep(quiet / 2)
		tr.receivedData("fetch")
		time.Sleep(quiet / 2)
		want("with data", quiet/2, true, 1)
		time.Sleep(quiet / 2)
		want("without data", 0, true, 0)
		tr.sent(network.EventRequestWillBeSent{RequestID: "xhr", Type: network.ResourceTypeXHR})
		respond("xhr", network.ResourceTypeXHR, "no-store")
		tr.receivedData("xhr")
		time.Sleep(quiet)
		want("another request", 0, false, 1)
		tr.done("xhr")
		tr.sent(network.EventRequestWillBeSent{RequestID: "stored", Type: network.ResourceTypeFetch})
		respond("stored", network.ResourceTypeFetch, "no-cache")
		time.Sleep(quiet)
		want("a response that may be stored", 0, false, 1)
		tr.done("stored")
		tr.done("fetch")
		for i := range maxPending + 10 { // of one page, over time
			id := network.RequestID(fmt.Sprint(i))
			tr.sent(network.EventRequestWillBeSent{RequestID: id, Type: network.ResourceTypeFetch})
			respond(id, network.ResourceTypeFetch, "no-store")
			time.Sleep(time.Millisecond)
		}
		tr.sent(network.EventRequestWillBeSent{RequestID: "last", Type: network.ResourceTypeFetch})
		if _, ok := tr.idleIn(); ok {
			t.Error("a request after many without an end is not tracked")
		}
		tr.done("last")
		time.Sleep(quiet)
		want("the end", 0, true, 0)
		if _, ended := tr.counts(); ended != 4 {
			t.Errorf("%d requests have ended", ended)
		}
	})
}
