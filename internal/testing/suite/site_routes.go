package suite

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// navigationRoutes adds the resources that the navigation cases need: delayed and truncated
// responses, and pages that show the request method.
func (s *pageServer) navigationRoutes(mux *http.ServeMux) {
	mux.HandleFunc("/travel/{case}/posted", serveMethod)
	mux.HandleFunc("/travel/{case}/order", s.serveOrder)
	mux.HandleFunc("GET /travel/{case}/live", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>Live</title><button onclick=\"this.textContent = 'Clicked'\">Press</button><p id=out></p>"+
			"<script>new EventSource('stream').onmessage = (e) => { out.textContent = 'stream ' + e.data }</script>")
	})
	mux.HandleFunc("GET /travel/{case}/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: hello\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /travel/{case}/unread", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		io.WriteString(w, "unread")
	})
	mux.HandleFunc("GET /travel/{case}/parts/{name}", s.serveParts)
	mux.HandleFunc("/travel/{case}/attachment/{name}", s.serveAttachment)
	mux.HandleFunc("GET /travel/{case}/reset", serveReset)
	mux.HandleFunc("GET /travel/{case}/scriptless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "sandbox allow-same-origin allow-forms")
		fmt.Fprint(w, "<!doctype html><title>Scriptless</title><label><input type=checkbox> Gift wrap</label> <input aria-label=Name> <details><summary>More</summary>what is in it</details>")
	})
	mux.HandleFunc("GET /travel/{case}/short", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "9999")
		fmt.Fprint(w, "<!doctype html><title>Short</title><h1>the part that came</h1><button onclick='this.textContent = `clicked`'>Part</button>")
	})
	mux.HandleFunc("GET /travel/{case}/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	})
	mux.HandleFunc("GET /travel/{case}/refresh", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Refresh", "0; url="+r.URL.Query().Get("to"))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><title>Refresh</title>")
	})
}

// serveMethod serves a page that shows the method and body of the request.
func serveMethod(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><title>%[1]s</title><p>asked by %[1]s with %[2]q", r.Method, r.PostFormValue("field"))
}

// serveParts serves a page whose second half is sent after Release(name).
func (s *pageServer) serveParts(w http.ResponseWriter, r *http.Request) {
	st := s.siteOf(r)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, "<!doctype html><title>Parts</title><p>the first part")
	w.(http.Flusher).Flush()
	if !st.awaitRelease(r, r.PathValue("name")) {
		return
	}
	io.WriteString(w, "<p>the second part")
}

// serveAttachment serves a download named ?as=. With ?hold=, it sends only the first bytes before
// Release(?hold=). With ?cut=, it closes the connection after them. With ?length=none, it sends no
// Content-Length. With ?late=, it starts after Release(?late=).
func (s *pageServer) serveAttachment(w http.ResponseWriter, r *http.Request) {
	st := s.siteOf(r)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	if !st.awaitRelease(r, q.Get("late")) {
		return
	}
	w.Header().Set("Content-Type", "text/csv")
	w.Header().Set("Content-Disposition", `attachment; filename="`+r.PathValue("name")+`"`)
	if as := q.Get("as"); as != "" {
		w.Header().Set("Content-Disposition", as)
	}
	if q.Get("length") != "none" {
		w.Header().Set("Content-Length", strconv.Itoa(len(FileContent)))
	}
	io.WriteString(w, FileContent[:4])
	w.(http.Flusher).Flush()
	if !st.awaitRelease(r, q.Get("hold")) {
		return
	}
	if q.Get("cut") != "" {
		panic(http.ErrAbortHandler)
	}
	io.WriteString(w, FileContent[4:])
}

// serveReset resets the connection without a response.
func serveReset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.SetDeadline(time.Now())
	conn.Close()
}

// NavigationURL returns the URL of a resource of navigationRoutes.
func (st *Site) NavigationURL(path string) string {
	return st.Origin() + "/travel/" + st.ID + "/" + path
}

// serveOrder serves a form, and counts the orders that it is sent for. No cache has the page of an
// order, unless the form was opened with ?cache=. With ?again=, the page of a second order is sent
// after Release.
func (s *pageServer) serveOrder(w http.ResponseWriter, r *http.Request) {
	st := s.siteOf(r)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Method != http.MethodPost {
		fmt.Fprintf(w, "<!doctype html><title>Shop</title><form method=post action='?%s'><button>Buy</button></form>", r.URL.RawQuery)
		return
	}
	st.Mu.Lock()
	st.Orders++
	n := st.Orders
	st.Mu.Unlock()
	if n > 1 && !st.awaitRelease(r, r.URL.Query().Get("again")) {
		return
	}
	if r.URL.Query().Get("cache") == "" {
		w.Header().Set("Cache-Control", "no-store")
		// A page that has a lock does not enter the back/forward cache.
		defer fmt.Fprint(w, "<script>navigator.locks.request('order', () => new Promise(() => {}))</script>")
	}
	fmt.Fprintf(w, "<!doctype html><title>Order %d</title><h1>Thank you</h1>", n)
}

// serveAuth requests authentication and accepts no credentials.
func serveAuth(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", map[string]string{
		"basic": `Basic realm="test"`, "digest": `Digest realm="test", nonce="abc", qop="auth"`, "ntlm": "NTLM",
	}[r.PathValue("scheme")])
	http.Error(w, "a password is needed", http.StatusUnauthorized)
}
