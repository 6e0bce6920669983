package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// registerWorker is a script that registers the service worker /worker.js, and waits until it controls
// the page.
const registerWorker = `new Promise((done) => {
	navigator.serviceWorker.oncontrollerchange = () => done(true);
	navigator.serviceWorker.register('/worker.js');
})`

// serveWorker sends a service worker that controls its pages immediately. onFetch is its handler of the
// fetch event e.
func serveWorker(w http.ResponseWriter, onFetch string) {
	w.Header().Set("Content-Type", "text/javascript")
	fmt.Fprintf(w, `addEventListener('install', () => skipWaiting());
		addEventListener('activate', (e) => e.waitUntil(clients.claim()));
		addEventListener('fetch', (e) => { %s });`, onFetch)
}

// TestWorkerBodies checks that the body and the headers of an opaque response, with which a service
// worker answers a request to its own site, are not returned, and those of a document are.
func TestWorkerBodies(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Account", "of another site")
		_, _ = w.Write([]byte("text of another site"))
	}))
	t.Cleanup(other.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/worker.js" {
			serveWorker(w, fmt.Sprintf("e.respondWith(e.request.url.includes('/opaque') ? fetch(%q, {mode: 'no-cors'}) : fetch(e.request))", other.URL))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Account", "of the site")
		_, _ = w.Write([]byte("<!doctype html><title>Page</title><link rel=icon href=data:,>"))
	}))
	t.Cleanup(site.Close)
	ctx := await.Context(t)
	s, err := newBrowser(t, testOptions(t)).NewSession(&executor.SessionOptions{Gate: executor.AllowAll, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := pagetest.Of(s, tab.ID)
	if _, err := p.Eval(ctx, registerWorker, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Navigate(ctx, site.URL+"/document", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(ctx, "fetch('/opaque', {mode: 'no-cors'}).then((r) => r.text())", nil); err != nil {
		t.Fatal(err)
	}
	body := func(path, account string) (executor.Request, error) {
		t.Helper()
		all, err := p.Requests(ctx, &executor.RequestsOptions{Filter: path})
		if err != nil || len(all.Requests) != 1 {
			t.Fatalf("requests for %s: %+v, %v", path, all, err)
		}
		full, err := p.Requests(ctx, &executor.RequestsOptions{ID: all.Requests[0].ID})
		if err != nil || full.Requests[0].ResponseHeaders["x-account"] != account {
			t.Errorf("the request for %s: %+v, %v, want the header %q", path, full, err, account)
		}
		one, err := p.Requests(ctx, &executor.RequestsOptions{ID: all.Requests[0].ID, Body: true})
		if err != nil {
			return executor.Request{}, err
		}
		return one.Requests[0], nil
	}
	if q, err := body("/opaque", ""); executor.CodeOf(err) != executor.ErrBadArgs || !strings.Contains(err.Error(), "service worker") {
		t.Errorf("the body of an opaque response is %q, %v", q.Body, err)
	}
	if q, err := body("/document", "of the site"); err != nil || q.Body == "" {
		t.Errorf("the body of a document: %+v, %v", q, err)
	}
}
