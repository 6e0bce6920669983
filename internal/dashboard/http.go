package dashboard

import (
	"context"
	"embed"
	"encoding/json"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

//go:embed static
var static embed.FS

// openedPage is the response to a login. It opens the dashboard.
//
//go:embed pages/opened.html
var openedPage []byte

const (
	// maxBody is the maximum size of the body of a request, in bytes.
	maxBody = 4 << 10
	// bodyTimeout is the time in which the body of a request must arrive.
	bodyTimeout = 10 * time.Second
	// writeTimeout is the time in which the client must read one write.
	writeTimeout = 10 * time.Second
)

// loginKey is the context key of the login of a request.
type loginKey struct{}

// loginOf returns the login of a request by its context.
func loginOf(ctx context.Context) *login {
	l, _ := ctx.Value(loginKey{}).(*login)
	return l
}

// handler returns the handler for browsers. It rejects requests with another Host, from pages of
// other origins, and without the cookie. Only the login needs no cookie.
func (s *Server) handler(w *web) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", file("index.html"))
	for _, name := range staticFiles() {
		if name != "index.html" {
			mux.HandleFunc("GET /"+name, file(name))
		}
	}
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("POST /stop", s.stopWorkspace)
	mux.HandleFunc("POST /answer", s.answer)
	mux.HandleFunc("POST /logout", func(rw http.ResponseWriter, r *http.Request) { s.logout(rw, r, w.path) })
	routes := http.StripPrefix(strings.TrimSuffix(w.path, "/"), mux)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			http.Error(rw, "The process is stopping.", http.StatusServiceUnavailable)
			return
		}
		defer s.handlers.Done()
		rc := http.NewResponseController(rw)
		rc.SetReadDeadline(time.Now().Add(bodyTimeout))
		rc.SetWriteDeadline(time.Now().Add(writeTimeout))
		setHeaders(rw.Header(), w)
		switch {
		case r.Host != w.host:
			s.reject(rw, r, "host", http.StatusForbidden)
		case !strings.HasPrefix(r.URL.Path, w.path):
			s.reject(rw, r, "path", http.StatusNotFound)
		case r.URL.Path == w.path+"login":
			s.login(rw, r, w)
		case !sameOrigin(r, w):
			s.reject(rw, r, "origin", http.StatusForbidden)
		default:
			one := s.logins.of(r)
			if one == nil {
				s.reject(rw, r, "cookie", http.StatusForbidden)
				return
			}
			connlimit.SetOwner(r.Context(), one, 0)
			r.Body = http.MaxBytesReader(rw, r.Body, maxBody)
			routes.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), loginKey{}, one)))
		}
	})
}

// setHeaders restricts what the page of the dashboard may load, and which pages may load it.
func setHeaders(h http.Header, w *web) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ws://"+w.host+
		"; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// sameOrigin reports whether a request comes from the page of the dashboard, or from the user, who
// opens it. Requests that change something or open a WebSocket must have an Origin.
func sameOrigin(r *http.Request, w *web) bool {
	origin := r.Header.Values("Origin")
	needed := r.Method != http.MethodGet || r.Header.Get("Upgrade") != ""
	if needed && len(origin) == 0 || len(origin) > 1 || len(origin) == 1 && origin[0] != "http://"+w.host {
		return false
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "none" && site != "same-origin" {
			return false
		}
	}
	return true
}

// reject rejects a request and closes its connection.
func (s *Server) reject(w http.ResponseWriter, r *http.Request, reason string, status int) {
	s.log.Info("dashboard request rejected", "reason", reason, "remote", r.RemoteAddr)
	w.Header().Set("Connection", "close")
	http.Error(w, "Run chrome-mcp dashboard to open this page.", status)
}

// login exchanges a code for a cookie. The login page is a file, so its Origin is "null".
func (s *Server) login(w http.ResponseWriter, r *http.Request, web *web) {
	origin := r.Header.Get("Origin")
	dest := r.Header.Get("Sec-Fetch-Dest")
	if r.Method != http.MethodPost || origin != "" && origin != "null" && origin != "http://"+web.host || dest != "" && dest != "document" {
		s.reject(w, r, "origin", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	cookie, ok := s.logins.exchange(r.PostFormValue("code"))
	if !ok {
		s.reject(w, r, "code", http.StatusForbidden)
		return
	}
	s.log.Info("dashboard login")
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: cookie, Path: web.path, MaxAge: int(loginTTL.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	// A redirect would not work: the browser does not send a SameSite=Strict cookie while it
	// follows a navigation that another site, here the file, has started. This page starts a new
	// navigation.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(openedPage)
}

// staticFiles returns the names of the embedded files.
func staticFiles() (names []string) {
	files, _ := static.ReadDir("static") // embedded, so it exists
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// file returns a handler that serves an embedded file.
func file(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if path.Ext(name) == ".js" { // the type in the registry of Windows may differ
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		}
		http.ServeFileFS(w, r, static, "static/"+name)
	}
}

// readBody decodes the JSON body of a request. If the body is invalid, it sends an error response
// and returns false.
func readBody(w http.ResponseWriter, r *http.Request, body any) bool {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "The body is not JSON.", http.StatusUnsupportedMediaType)
		return false
	}
	if err := json.NewDecoder(r.Body).Decode(body); err != nil {
		http.Error(w, "The body is invalid.", http.StatusBadRequest)
		return false
	}
	return true
}

// stopWorkspace ends a workspace.
func (s *Server) stopWorkspace(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Session string `json:"session"`
	}
	if !readBody(w, r, &body) {
		return
	}
	workspace := s.opts.Board.workspace(body.Session)
	if workspace == nil {
		http.Error(w, "The session has ended.", http.StatusNotFound)
		return
	}
	s.log.Info("session stopped on the dashboard", "session", workspace.opts.Name, "principal", workspace.opts.Principal)
	// Reply first: stopping the session may exit the process.
	w.WriteHeader(http.StatusNoContent)
	_ = http.NewResponseController(w).Flush() // fails only if the client does not receive the reply
	workspace.stop()
}

// answer passes the user's answer to a question on.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Question string                   `json:"question"`
		Outcome  executor.HandoverOutcome `json:"outcome"`
	}
	if !readBody(w, r, &body) {
		return
	}
	if body.Outcome != executor.OutcomeDone && body.Outcome != executor.OutcomeCannot {
		http.Error(w, "The outcome is invalid.", http.StatusBadRequest)
		return
	}
	if s.opts.Desk.Answer(body.Question, body.Outcome) != nil {
		http.Error(w, "The question has been answered, or its tab is closed.", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// logout ends the login of the request, whose cookie is for path.
func (s *Server) logout(w http.ResponseWriter, r *http.Request, path string) {
	s.logins.logout(loginOf(r.Context()))
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: path, MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
}
