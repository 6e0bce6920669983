package executortest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// travelRoutes adds what the cases on going places need of a server: answers
// that come in parts, or are cut, and pages that remember how they were asked
// for.
func (s *site) travelRoutes(mux *http.ServeMux) {
	mux.HandleFunc("/travel/{case}/posted", serveMethod)
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

// serveMethod serves a page that tells how it was asked for.
func serveMethod(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><title>%[1]s</title><p>asked by %[1]s with %[2]q", r.Method, r.PostFormValue("field"))
}

// serveParts serves a page whose second half comes after release(name).
func (s *site) serveParts(w http.ResponseWriter, r *http.Request) {
	st := s.stage(r)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, "<!doctype html><title>Parts</title><p>the first part")
	w.(http.Flusher).Flush()
	h := st.hold(r.PathValue("name"))
	h.arriving.Do(func() { close(h.arrived) })
	select {
	case <-h.released:
	case <-r.Context().Done():
		return
	}
	io.WriteString(w, "<p>the second part")
}

// serveAttachment serves a download: under the name ?as=, with what follows
// the first bytes after release(?hold=), with the connection cut after them
// when ?cut= is set, and with ?length=none of unknown length. With ?late= it
// begins 150 ms later.
func (s *site) serveAttachment(w http.ResponseWriter, r *http.Request) {
	st := s.stage(r)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	if q.Get("late") != "" {
		select {
		case <-time.After(150 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/csv")
	w.Header().Set("Content-Disposition", `attachment; filename="`+r.PathValue("name")+`"`)
	if as := q.Get("as"); as != "" {
		w.Header().Set("Content-Disposition", as)
	}
	if q.Get("length") != "none" {
		w.Header().Set("Content-Length", strconv.Itoa(len(fileContent)))
	}
	io.WriteString(w, fileContent[:4])
	w.(http.Flusher).Flush()
	if name := q.Get("hold"); name != "" {
		h := st.hold(name)
		h.arriving.Do(func() { close(h.arrived) })
		select {
		case <-h.released:
		case <-r.Context().Done():
			return
		}
	}
	if q.Get("cut") != "" {
		panic(http.ErrAbortHandler)
	}
	io.WriteString(w, fileContent[4:])
}

// serveReset ends the connection with a reset and no answer.
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

// travel is the address of one of the pages of travelRoutes.
func (st *stage) travel(path string) string { return st.origin() + "/travel/" + st.id + "/" + path }
