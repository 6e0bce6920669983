package cdpsuite

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// siteFiles are the files of the site for CDP clients.
const siteFiles = "../../tools/cdp/site"

// A Site is the site that CDP clients visit. It is two sites for a browser: one at 127.0.0.1, and
// another at localhost.
type Site struct {
	*httptest.Server
	Other   string // URL of the other site
	Nothing string // URL of a port of this machine without a server
}

// NewSite starts a site, until the test ends.
func NewSite(t *testing.T) *Site {
	t.Helper()
	s := &Site{}
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.file)
	mux.HandleFunc("/echo", s.echo)
	mux.Handle("/redirect", http.RedirectHandler("/one.html", http.StatusFound))
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="report.txt"`)
		io.WriteString(w, "the report")
	})
	mux.HandleFunc("/download-slow", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="slow.bin"`)
		w.Header().Set("Content-Length", "2000000")
		io.WriteString(w, strings.Repeat("x", 1_000_000))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/csp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>Strict</title>")
	})
	mux.HandleFunc("/cookies", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "plain", Value: "1", Path: "/"})
		http.SetCookie(w, &http.Cookie{Name: "hidden", Value: "2", Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>Cookies</title>")
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || name != "ada" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="site"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, "Welcome")
	})
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, data, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, append([]byte("echo "), data...)) != nil {
				return
			}
		}
	})
	s.Server = httptest.NewServer(mux)
	s.Other = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Nothing = "http://" + l.Addr().String()
	l.Close()
	return s
}

// file serves a file. In HTML, {other} is the URL of the other site.
func (s *Site) file(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	data, err := os.ReadFile(filepath.Join(siteFiles, filepath.Base(name)))
	if err != nil {
		if name != "favicon.ico" {
			http.NotFound(w, r)
		}
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	switch filepath.Ext(name) {
	case ".html":
		w.Header().Set("Content-Type", "text/html")
		data = []byte(strings.ReplaceAll(string(data), "{other}", s.Other))
	case ".js":
		w.Header().Set("Content-Type", "text/javascript")
	case ".css":
		w.Header().Set("Content-Type", "text/css")
	case ".gif":
		w.Header().Set("Content-Type", "image/gif")
	}
	w.Write(data)
}

// echo returns the request as JSON.
func (s *Site) echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	headers := map[string]string{}
	for name, values := range r.Header {
		headers[name] = strings.Join(values, ", ")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Site", "yes")
	w.Header().Set("Cache-Control", "no-store")
	data, err := json.Marshal(map[string]any{"method": r.Method, "body": string(body), "headers": headers})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, err)
		return
	}
	w.Write(data)
}
