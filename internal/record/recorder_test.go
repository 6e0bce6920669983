package record

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// TestMessagesOfHandover checks that console messages of a handover are not recorded when the
// browser reports them again, also if nothing was recorded during the handover.
func TestMessagesOfHandover(t *testing.T) {
	for name, recorded := range map[string]bool{"recorded before": true, "recorded later": false} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{})
			report := func(at runtime.Timestamp) (accepted bool) {
				if !r.accepts(at) {
					return false
				}
				r.update(func(l *activityLog) { accepted = !l.alreadyRecorded(at) })
				return accepted
			}
			if recorded {
				r.start()
			}
			if report(1) != recorded {
				t.Errorf("a message before the handover is accepted: %t", !recorded)
			}
			r.Pause()
			report(2)
			r.Resume()
			r.Detached()
			if !recorded {
				r.start()
			}
			if report(1) || report(2) {
				t.Error("a message up to the end of the handover is accepted later")
			}
			if !report(3) {
				t.Error("a message after the handover is not accepted")
			}
		})
	}
}

// TestFirstRequestOfPopup checks that the first request of a popup window is recorded although the
// browser did not report that it was sent.
func TestFirstRequestOfPopup(t *testing.T) {
	redirect := network.EventRequestWillBeSent{
		RequestID: "1", FrameID: "F", Type: network.ResourceTypeDocument,
		Request: &network.Request{URL: "http://a.test/landing", Method: "GET"}, RedirectResponse: &network.Response{URL: "http://a.test/go", Status: 302},
	}
	response := network.EventResponseReceived{
		RequestID: "1", FrameID: "F", Type: network.ResourceTypeDocument, Response: &network.Response{URL: "http://a.test/landing", Status: 200},
	}
	later := network.EventResponseReceived{
		RequestID: "2", FrameID: "F", Type: network.ResourceTypeDocument, Response: &network.Response{URL: "http://a.test/later", Status: 200},
	}
	for name, c := range map[string]struct {
		popup bool
		sent  []network.EventRequestWillBeSent
		want  []string
	}{
		"redirect":       {true, []network.EventRequestWillBeSent{redirect}, []string{" http://a.test/go 302", "GET http://a.test/landing 200"}},
		"response":       {true, nil, []string{" http://a.test/landing 200"}},
		"without opener": {false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := frames.New(nil, "F", nil, "", nil, timing.Current()).Lock()
			defer s.Unlock()
			r := New(Options{Popup: c.popup, On: true})
			for _, e := range c.sent {
				r.RequestSent(s, nil, e)
			}
			r.ResponseReceived(s, nil, response)
			r.ResponseReceived(s, nil, later) // of a request that was dropped
			var got []string
			for _, q := range r.log.requests.items {
				got = append(got, fmt.Sprint(q.item.Method, " ", q.item.URL, " ", q.item.Status))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("recorded %q, want %q", got, c.want)
			}
		})
	}
}

// TestDeniedByPolicy checks that a request that failed counts as denied by the policy only if the
// policy is known to have denied it: extensions, servers and the network fail requests, too.
func TestDeniedByPolicy(t *testing.T) {
	const allowed, denied, resource = "https://allowed.test/", "https://denied.test/", "https://resource.test/"
	for _, c := range []struct {
		name, url, error string
		byProxy          bool // the proxy denied the last request to the host
		want             bool
	}{
		{"denied by the proxy", denied, "net::ERR_TUNNEL_CONNECTION_FAILED", true, true},
		{"address of an allowed host denied by the proxy", allowed, "net::ERR_TUNNEL_CONNECTION_FAILED", true, true},
		{"not reached by the proxy", allowed, "net::ERR_TUNNEL_CONNECTION_FAILED", false, false},
		{"of an unlisted host, not reached by the proxy", denied, "net::ERR_TUNNEL_CONNECTION_FAILED", false, false},
		{"denied by interception", denied, "net::ERR_BLOCKED_BY_CLIENT", true, true},
		{"denied in the user's Chrome", denied, "net::ERR_BLOCKED_BY_CLIENT", false, true},
		{"blocked by an extension", allowed, "net::ERR_BLOCKED_BY_CLIENT", false, false},
		{"unlisted resource that may be loaded, blocked by an extension", resource, "net::ERR_BLOCKED_BY_CLIENT", false, false},
		{"blocked by the response of the server", allowed, "net::ERR_BLOCKED_BY_RESPONSE", true, false},
		{"of an unlisted host, blocked by its response", denied, "net::ERR_BLOCKED_BY_RESPONSE.NotSameOrigin", false, false},
		{"blocked by a content security policy", denied, "net::ERR_BLOCKED_BY_CSP", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := frames.New(nil, "F", nil, "", nil, timing.Current()).Lock()
			r := New(Options{On: true, DeniedByProxy: func(url string) bool { return c.byProxy && url == c.url }})
			r.RequestSent(s, nil, network.EventRequestWillBeSent{
				RequestID: "1", FrameID: "F", Type: network.ResourceTypeScript, Request: &network.Request{URL: c.url, Method: "GET"},
			})
			s.Unlock()
			r.LoadingFailed(network.EventLoadingFailed{RequestID: "1", ErrorText: c.error})
			res, _, err := r.Requests(Visibility{
				Records: func([]*frames.Document) bool { return true }, URL: func(url string) bool { return url == allowed },
				Load: func(url string) bool { return url == resource },
			}, executor.RequestsOptions{})
			if err != nil || len(res.Requests) != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
			if got := res.Requests[0]; got.DeniedByPolicy != c.want || got.Error != c.error {
				t.Errorf("denied by the policy: %t, want %t; error %q", got.DeniedByPolicy, c.want, got.Error)
			}
		})
	}
}
