package page

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// TestRequestDeniedByProxy checks that recording a request that the proxy denied does not call
// Options.ProxyError, which may block: the tree is locked while an event is handled.
func TestRequestDeniedByProxy(t *testing.T) {
	tab := attachWith(t, worlds(), Options{
		ProxyError: func(host string) error {
			t.Errorf("ProxyError(%q) was called while an event was handled", host)
			return nil
		},
		DeniedByProxy: func(url string) bool { return url == "https://a.test/x" },
	})
	tab.Recording.Start()
	s := tab.tree.Lock()
	for _, ev := range [][2]string{
		{"Network.requestWillBeSent", `{"requestId":"1","loaderId":"","frameId":"T","type":"Fetch","documentURL":"https://a.test/","timestamp":1,"wallTime":1,"redirectHasExtraInfo":false,"initiator":{"type":"script"},
			"request":{"url":"https://a.test/x","method":"GET","headers":{},"initialPriority":"High","referrerPolicy":"no-referrer"}}`},
		{"Network.loadingFailed", `{"requestId":"1","timestamp":2,"type":"Fetch","errorText":"net::ERR_TUNNEL_CONNECTION_FAILED"}`},
	} {
		tab.handleEvent(s, cdpconn.Event{Session: tab.sess, Method: ev[0], Params: []byte(ev[1])})
	}
	s.Unlock()
	res, _, err := tab.Recording.Requests(record.Visibility{
		Records: func([]*frames.Document) bool { return true }, URL: func(string) bool { return true }, Load: func(string) bool { return true },
	}, executor.RequestsOptions{})
	if err != nil || len(res.Requests) != 1 || !res.Requests[0].DeniedByPolicy {
		t.Errorf("%+v, %v", res, err)
	}
}
