package page

import (
	"fmt"
	"slices"
	"testing"

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
		tab.inflight.Sent(network.EventRequestWillBeSent{RequestID: id, FrameID: frame, LoaderID: loader, Type: network.ResourceTypeFetch})
	}
	handle := func(method, params string, args ...any) {
		s.HandleEvent(cdpconn.Event{Session: tab.sess, Method: method, Params: fmt.Appendf(nil, params, args...)})
	}
	navigate := func(frame, parent cdp.FrameID, loader cdp.LoaderID) {
		handle("Page.frameNavigated", `{"frame":{"id":%q,"parentId":%q,"loaderId":%q,"url":"https://example.com/","domainAndRegistry":"","securityOrigin":"","mimeType":"","secureContextType":"Secure","crossOriginIsolatedContextType":"Isolated","gatedAPIFeatures":[]},"type":"Navigation"}`, frame, parent, loader)
	}
	want := func(ids ...network.RequestID) {
		t.Helper()
		if got := slices.Sorted(slices.Values(tab.inflight.Requests())); !slices.Equal(got, ids) {
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
	tab.inflight.Done("C")
	want()
}
