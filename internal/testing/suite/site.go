package suite

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

//go:embed testdata
var testdata embed.FS

// A pageServer serves the pages of the suites, which are in testdata. Each case has its own port: a
// browser opens at most six connections per port, and connections with pending responses would block
// other cases. Pages are under /p/<case>/, so that reports identify their case. Each port is available
// as 127.0.0.1 and as localhost, which browsers treat as two sites.
type pageServer struct {
	handler http.Handler

	lastCase atomic.Int64
	mu       sync.Mutex
	sites    map[string]*Site // by case
}

func newPageServer() *pageServer {
	s := &pageServer{sites: map[string]*Site{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p/{case}/{file}", s.servePage)
	mux.HandleFunc("POST /report/{case}", s.serveReport)
	mux.HandleFunc("GET /held/{case}/{name}", s.serveHeld)
	mux.HandleFunc("GET /status/{code}", serveStatus)
	mux.HandleFunc("GET /redirect/{n}", serveRedirect)
	mux.HandleFunc("GET /challenge", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		http.Error(w, "log in", http.StatusUnauthorized)
	})
	mux.HandleFunc("GET /cookie", serveCookie)
	mux.HandleFunc("GET /cookies", serveCookies)
	mux.HandleFunc("GET /deep/cookies", serveCookies)
	mux.HandleFunc("GET /sandboxed", serveSandboxed)
	mux.HandleFunc("GET /file/{name}", serveFile)
	mux.HandleFunc("GET /nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /asked", serveRequestInfo)
	mux.HandleFunc("GET /auth/{scheme}", serveAuth)
	mux.HandleFunc("GET /endless", serveEndless)
	s.navigationRoutes(mux)
	s.handler = mux
	return s
}

// A Report is an event that a page reports.
type Report struct {
	Kind    string `json:"kind"` // usually the type of an event
	ID      string `json:"id"`   // usually the id of the element that received it
	Value   string `json:"value"`
	Trusted bool   `json:"trusted"`
	Button  int    `json:"button"`
	Count   int    `json:"count"` // click count
	Mods    string `json:"mods"`  // letters of Alt, Control, Meta, Shift
	Moving  bool   `json:"moving"`
}

// A Site is what a pageServer serves for one case, and what its pages have reported.
type Site struct {
	t    *testing.T
	ID   string
	Port int

	// pageLog returns what the page of the case has reported, also if that did not arrive. It is nil if
	// the case has no page.
	pageLog func() string

	Mu      sync.Mutex
	Reports []Report
	news    chan struct{} // closed and replaced at each report
	held    map[string]*pendingResponse
	Orders  int // number of orders that serveOrder received
}

// A pendingResponse is a response that waits until the case releases it.
type pendingResponse struct {
	arrived, released   chan struct{}
	arriving, releasing sync.Once
}

func (s *pageServer) newSite(t *testing.T) *Site {
	server := httptest.NewServer(s.handler)
	t.Cleanup(func() {
		server.CloseClientConnections() // pending requests end with their connections
		server.Close()
	})
	st := &Site{
		t: t, ID: strconv.FormatInt(s.lastCase.Add(1), 10), Port: server.Listener.Addr().(*net.TCPAddr).Port,
		news: make(chan struct{}), held: map[string]*pendingResponse{},
	}
	s.mu.Lock()
	s.sites[st.ID] = st
	s.mu.Unlock()
	t.Cleanup(func() {
		st.Mu.Lock()
		defer st.Mu.Unlock()
		for _, h := range st.held {
			h.releasing.Do(func() { close(h.released) })
		}
	})
	return st
}

func (s *pageServer) siteOf(r *http.Request) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sites[r.PathValue("case")]
}

// Origin is the origin of the pages. OtherOrigin is a second site with the same pages.
func (st *Site) Origin() string { return fmt.Sprintf("http://127.0.0.1:%d", st.Port) }

func (st *Site) OtherOrigin() string { return fmt.Sprintf("http://localhost:%d", st.Port) }

// URL returns the URL of a page of the suite, OtherURL the one on the other site, and Path that of
// a special resource of the site.
func (st *Site) URL(file string) string { return st.Origin() + "/p/" + st.ID + "/" + file }

func (st *Site) OtherURL(file string) string {
	return st.OtherOrigin() + "/p/" + st.ID + "/" + file
}

func (st *Site) Path(path string) string { return st.Origin() + path }

// HeldURL returns the URL of a page that is not sent before Release(name). With ?to=, it redirects.
func (st *Site) HeldURL(name string) string { return st.Origin() + "/held/" + st.ID + "/" + name }

func (st *Site) holdResponse(name string) *pendingResponse {
	st.Mu.Lock()
	defer st.Mu.Unlock()
	h := st.held[name]
	if h == nil {
		h = &pendingResponse{arrived: make(chan struct{}), released: make(chan struct{})}
		st.held[name] = h
	}
	return h
}

func (st *Site) Release(name string) {
	h := st.holdResponse(name)
	h.releasing.Do(func() { close(h.released) })
}

// awaitRelease records the request of a held page and waits until it is released. It reports whether
// the browser still waits for the response. Without a name, nothing is held.
func (st *Site) awaitRelease(r *http.Request, name string) bool {
	if name == "" {
		return true
	}
	h := st.holdResponse(name)
	h.arriving.Do(func() { close(h.arrived) })
	select {
	case <-h.released:
		return true
	case <-r.Context().Done():
		return false
	}
}

// AwaitRequest waits until the browser has requested a held page.
func (st *Site) AwaitRequest(name string) {
	st.t.Helper()
	await.Receive(st.t, "the browser's request for "+name, st.holdResponse(name).arrived)
}

// Await waits for a report of this kind from this element, removes the first one from the list and
// returns it.
func (st *Site) Await(kind, id string) Report {
	st.t.Helper()
	limit := time.NewTimer(await.HangLimit)
	defer limit.Stop()
	for {
		st.Mu.Lock()
		for i, r := range st.Reports {
			if r.Kind == kind && r.ID == id {
				st.Reports = append(st.Reports[:i:i], st.Reports[i+1:]...)
				st.Mu.Unlock()
				return r
			}
		}
		news := st.news
		st.Mu.Unlock()
		select {
		case <-news:
		case <-limit.C:
			sent := ""
			if st.pageLog != nil {
				sent = st.pageLog()
			}
			st.Mu.Lock()
			defer st.Mu.Unlock()
			st.t.Fatalf("no report of %s on #%s; reports: %+v; of the page: %s", kind, id, st.Reports, sent)
		}
	}
}

func (s *pageServer) serveReport(w http.ResponseWriter, r *http.Request) {
	var rep Report
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &rep)
	}
	st := s.siteOf(r)
	if err != nil || st == nil {
		http.Error(w, fmt.Sprint("bad report: ", err), http.StatusBadRequest)
		return
	}
	st.Mu.Lock()
	st.Reports = append(st.Reports, rep)
	close(st.news)
	st.news = make(chan struct{})
	st.Mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// contentTypes maps file name extensions to content types other than HTML.
var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".json": "application/json",
	".xml": "text/xml; charset=utf-8", ".gif": "image/gif", ".pdf": "application/pdf", ".svg": "image/svg+xml",
}

// servePage serves a file of testdata. It replaces {{other}} by the directory of the case on the
// other site and {{case}} by the case. ?status= sets the HTTP status.
func (s *pageServer) servePage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	contentType := "text/html; charset=utf-8"
	if other := contentTypes[path.Ext(name)]; other != "" {
		contentType = other
	}
	host, port, _ := strings.Cut(r.Host, ":")
	other := "localhost"
	if host == "localhost" {
		other = "127.0.0.1"
	}
	id := r.PathValue("case")
	data = bytes.ReplaceAll(data, []byte("{{other}}"), fmt.Appendf(nil, "http://%s:%s/p/%s/", other, port, id))
	data = bytes.ReplaceAll(data, []byte("{{case}}"), []byte(id))
	w.Header().Set("Content-Type", contentType)
	if code, err := strconv.Atoi(r.URL.Query().Get("status")); err == nil && code >= 200 && code <= 599 {
		w.WriteHeader(code)
	}
	w.Write(data)
}

func (s *pageServer) serveHeld(w http.ResponseWriter, r *http.Request) {
	st := s.siteOf(r)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	if !st.awaitRelease(r, r.PathValue("name")) {
		return
	}
	if to := r.URL.Query().Get("to"); to != "" {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><title>Held %[1]s</title><p>held %[1]s", r.PathValue("name"))
}

func serveStatus(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.PathValue("code"))
	if err != nil || code < 200 || code > 599 {
		http.Error(w, "no such status", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if r.URL.Query().Get("body") != "none" {
		fmt.Fprintf(w, "<!doctype html><title>Status %[1]d</title><h1>This is status %[1]d</h1>", code)
	}
}

// serveRedirect redirects n times, and then to the URL in "to".
func serveRedirect(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.PathValue("n"))
	to := r.URL.Query().Get("to")
	if n > 1 {
		r.URL.Path = "/redirect/" + strconv.Itoa(n-1)
		to = r.URL.String()
	}
	http.Redirect(w, r, to, http.StatusFound)
}

// serveEndless starts a page that never ends.
func serveEndless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, "<!doctype html><title>Endless</title><p>it begins")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// serveRequestInfo shows the request headers that identify the browser, and the header X-Lamp, to
// pages of any origin.
func serveRequestInfo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprintf(w, "%s %s lamp %q\n", r.UserAgent(), r.Header.Get("Accept-Language"), r.Header.Get("X-Lamp"))
}

func serveCookie(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "customer", Value: "ann", Path: "/", HttpOnly: true})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, "<!doctype html><title>Signed in</title><p>signed in")
}

// serveCookies shows the cookies of the request, and sets those of ?set=.
func serveCookies(w http.ResponseWriter, r *http.Request) {
	for _, set := range r.URL.Query()["set"] {
		w.Header().Add("Set-Cookie", set)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><title>Cookies</title><body>%s", html.EscapeString(r.Header.Get("Cookie")))
}

// serveSandboxed serves a page whose origin is opaque.
func serveSandboxed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Security-Policy", "sandbox allow-scripts")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, "<!doctype html><title>Sandboxed</title><p>of no site")
}

// serveFile serves a download named ?as=, of ?size= bytes or one line of text. With ?customer=1, it
// requires the customer cookie.
func serveFile(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("customer") != "" {
		if cookie, err := r.Cookie("customer"); err != nil || cookie.Value != "ann" {
			http.Error(w, "not for you", http.StatusForbidden)
			return
		}
	}
	name := r.PathValue("name")
	if as := q.Get("as"); as != "" {
		name = as
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	size, err := strconv.ParseInt(q.Get("size"), 10, 64)
	if err != nil {
		io.WriteString(w, FileContent)
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	block := make([]byte, 64<<10)
	for size > 0 {
		n, err := w.Write(block[:min(size, int64(len(block)))])
		if err != nil {
			return // the browser canceled
		}
		size -= int64(n)
	}
}

// FileContent is the content of a served file.
const FileContent = "id,total\n1,42\n"
