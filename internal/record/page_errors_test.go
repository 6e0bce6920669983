package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

func TestScriptSources(t *testing.T) {
	allowed := func(url string) bool { return strings.HasPrefix(url, "https://site.test/") }
	var l Scripts
	responded := func(id, url, mime string, byWorker bool) {
		l.Responded(network.EventResponseReceived{RequestID: network.RequestID(id), Type: network.ResourceTypeScript,
			Response: &network.Response{URL: url, MimeType: mime, FromServiceWorker: byWorker}})
	}
	want := func(url string, visible bool) {
		t.Helper()
		d := &runtime.ExceptionDetails{StackTrace: &runtime.StackTrace{CallFrames: []*runtime.CallFrame{{URL: url}}}}
		for range 2 {
			if got := l.sourceOf(d).visible("text", allowed); (got == "text") != visible {
				t.Errorf("an error at %q: %q", url, got)
			}
			d = &runtime.ExceptionDetails{URL: url} // a syntax error
		}
	}
	want("", true)
	want("data:text/javascript,x", true)
	want("https://site.test/", true) // a document
	want("https://other.test/unknown.js", false)

	responded("1", "https://site.test/own", "text/plain", false)
	want("https://site.test/own", true)
	responded("2", "https://other.test/text", "text/plain", false)
	want("https://other.test/text", false)
	responded("3", "https://other.test/a.js", "application/x-javascript", false)
	want("https://other.test/a.js", true)
	responded("4", "https://site.test/opaque", "text/plain", true)
	want("https://site.test/opaque", false)
	responded("5", "https://site.test/worker.js", "text/javascript", true)
	want("https://site.test/worker.js", true)

	for _, url := range []string{"https://site.test/1", "https://site.test/2"} {
		l.Sent(network.EventRequestWillBeSent{RequestID: "6", Type: network.ResourceTypeScript, RedirectResponse: &network.Response{URL: url}})
	}
	responded("6", "https://other.test/text2", "text/plain", false)
	want("https://site.test/1", false)
	want("https://site.test/2", false)

	// Another response at the same URL does not reveal an error of the first one.
	responded("7", "https://site.test/opaque", "text/javascript", true)
	responded("8", "https://site.test/opaque", "text/plain", false)
	want("https://site.test/opaque", false)
	responded("9", "https://site.test/own", "text/plain", true)
	want("https://site.test/own", false)

	for i := range maxScripts {
		responded("", fmt.Sprintf("https://site.test/%d.js", i), "text/javascript", false)
	}
	want("https://site.test/0.js", true)
	want("https://site.test/later", false)
	l.Reset()
	want("https://site.test/later", true)
}
