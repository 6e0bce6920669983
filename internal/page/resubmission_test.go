package page

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// TestGuardFailsRequestFirst checks that a guard fails a request before its call can learn of it:
// the guard then ends, and the browser continues the requests that are paused at that time.
func TestGuardFailsRequestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
			if cmd.Method == "Test.wait" {
				<-busy
			}
			b.Reply(cmd, "{}")
		})
		tab := attach(t, b)
		if _, err := tab.Interception.GuardResubmission(t.Context(), "", false, tab.sess.Call); err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 100 { // more than the connection queues
				tab.sess.Start(context.Background(), "Test.wait", nil)
			}
		}()
		synctest.Wait()
		go tab.Interception.RequestPaused(tab.sess, fetch.EventRequestPaused{
			RequestID: "1", FrameID: tab.main, ResourceType: network.ResourceTypeDocument, Request: &network.Request{Method: "POST", URL: "https://a.test/"},
		})
		synctest.Wait()
		if tab.Interception.ResubmissionError() != nil {
			t.Error("the call can end before the request was failed")
		}
		close(busy)
		synctest.Wait()
		if tab.Interception.ResubmissionError() == nil {
			t.Error("the request was not failed")
		}
	})
}
