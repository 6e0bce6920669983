package record

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto/network"
)

// TestFetchWithoutData checks that a fetch whose end may not be reported is in flight while it
// receives data, and any other request until its end.
func TestFetchWithoutData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const quiet = 500 * time.Millisecond
		tr := Inflight{Quiet: quiet}
		want := func(what string, left time.Duration, ok bool, inFlight int) {
			t.Helper()
			gotLeft, gotOK := tr.IdleIn()
			if n := tr.Since(0); gotLeft != left || gotOK != ok || n != inFlight {
				t.Errorf("%s: idle in %v, %v, %d in flight, want %v, %v, %d", what, gotLeft, gotOK, n, left, ok, inFlight)
			}
		}
		tr.Sent(network.EventRequestWillBeSent{RequestID: "fetch", Type: network.ResourceTypeFetch})
		tr.ReceivedData("fetch")
		time.Sleep(quiet)
		want("without a response", 0, false, 1)
		respond := func(id network.RequestID, kind network.ResourceType, cacheControl string) {
			tr.Responded(network.EventResponseReceived{RequestID: id, Type: kind, Response: &network.Response{Headers: network.Headers{"cache-Control": cacheControl}}})
		}
		respond("fetch", network.ResourceTypeFetch, "private, No-Store")
		want("with a response", quiet, true, 1)
		time.Sleep(quiet / 2)
		tr.ReceivedData("fetch")
		time.Sleep(quiet / 2)
		want("with data", quiet/2, true, 1)
		time.Sleep(quiet / 2)
		want("without data", 0, true, 0)
		tr.Sent(network.EventRequestWillBeSent{RequestID: "xhr", Type: network.ResourceTypeXHR})
		respond("xhr", network.ResourceTypeXHR, "no-store")
		tr.ReceivedData("xhr")
		time.Sleep(quiet)
		want("another request", 0, false, 1)
		tr.Done("xhr")
		tr.Sent(network.EventRequestWillBeSent{RequestID: "stored", Type: network.ResourceTypeFetch})
		respond("stored", network.ResourceTypeFetch, "no-cache")
		time.Sleep(quiet)
		want("a response that may be stored", 0, false, 1)
		tr.Done("stored")
		tr.Done("fetch")
		for i := range maxPending + 10 { // of one page, over time
			id := network.RequestID(fmt.Sprint(i))
			tr.Sent(network.EventRequestWillBeSent{RequestID: id, Type: network.ResourceTypeFetch})
			respond(id, network.ResourceTypeFetch, "no-store")
			time.Sleep(time.Millisecond)
		}
		tr.Sent(network.EventRequestWillBeSent{RequestID: "last", Type: network.ResourceTypeFetch})
		if _, ok := tr.IdleIn(); ok {
			t.Error("a request after many without an end is not tracked")
		}
		tr.Done("last")
		time.Sleep(quiet)
		want("the end", 0, true, 0)
		if _, ended := tr.Counts(); ended != 4 {
			t.Errorf("%d requests have ended", ended)
		}
	})
}
