package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A testSite is a site on 127.0.0.1. Under the name localhost it is another site, which no test
// policy allows.
type testSite struct {
	*httptest.Server
	slow chan struct{} // receives one value per request that hangs

	mu   sync.Mutex // guards the fields below
	hits []string   // host, path and query of each request
}

const sitePage = `<!doctype html><meta charset=utf-8><title>%[1]s</title>
<h1>%[1]s</h1><article><p>Lamps of walnut and brass, made to be switched on.</p><p>A <a href="/second">second page</a> has more.</p></article>
<form action=/order method=post>
<label>Name <input name=name></label> <label>Note <textarea name=note></textarea></label>
<label>Country <select name=country><option>Sweden<option>Norway</select></label>
<label><input type=checkbox name=gift> Gift wrap</label>
<button>Order</button></form>
<button id=count onclick="this.textContent = 'Clicked ' + (window.n = (window.n ?? 0) + 1) + (event.isTrusted ? ' for real' : '')">Click me</button>
<button id=ask onclick="document.title = confirm('Really?') ? 'yes' : 'no'">Ask</button>
<button id=away onclick="location.href = document.body.dataset.denied">Go away</button>
<button id=leak onclick="fetch(document.body.dataset.denied + '?fetch', {mode: 'no-cors'}).then(() => 'leaked', () => 'held').then((s) => { this.textContent = s; }); new Image().src = document.body.dataset.denied + '?image'">Leak</button>
<p id=over onmouseenter="this.textContent = 'hovered'">hover here</p>
<a id=save href=/files/report.csv>Save the report</a>
<div style="height: 3000px"></div><p id=bottom>The end</p>
<script>addEventListener('keydown', (e) => { window.key = e.key; }); document.body.dataset.denied = %[2]q;</script>`

func newTestSite(t *testing.T) *testSite {
	s := &testSite{slow: make(chan struct{}, 16)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// denied returns a URL of the site that no policy of the tests allows.
func (s *testSite) denied() string {
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/denied"
}

func (s *testSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.hits = append(s.hits, strings.TrimSpace(fmt.Sprintf("%s %s %s", host, r.URL.RequestURI(), body)))
	s.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	switch r.URL.Path {
	case "/slow": // blocks until the browser cancels
		s.slow <- struct{}{}
		<-r.Context().Done()
	case "/files/report.csv":
		w.Header().Set("Content-Type", "text/csv")
		w.Header().Set("Content-Disposition", "attachment")
		io.WriteString(w, "lamp,2\n")
	case "/favicon.ico":
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, sitePage, html.EscapeString(strings.TrimPrefix(r.URL.Path, "/")), s.denied())
	}
}

// asked returns the number of requests that start with prefix.
func (s *testSite) asked(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hit := range s.hits {
		if strings.HasPrefix(hit, prefix) {
			n++
		}
	}
	return n
}

// reached waits for a request to /slow.
func (s *testSite) reached(t *testing.T) {
	t.Helper()
	select {
	case <-s.slow:
	case <-t.Context().Done():
		t.Fatal("no request arrived")
	}
}
