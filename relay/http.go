package relay

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

// requestTimeout limits a request that is not a WebSocket. It includes starting the browser.
const requestTimeout = time.Minute

// serveBelowPath serves the endpoints below the secret path.
func (s *Server) serveBelowPath(w http.ResponseWriter, r *http.Request) {
	n := min(len(s.path), len(r.URL.Path))
	known := subtle.ConstantTimeCompare([]byte(r.URL.Path[:n]), []byte(s.path)) == 1
	rest := r.URL.Path[n:]
	if !known || rest != "" && rest[0] != '/' || !loopbackHost(r.Host) {
		http.NotFound(w, r)
		return
	}
	connlimit.SetOwner(r.Context(), s, 0)
	s.ServeDevTools(w, r, s.path)
}

// loopbackHost reports whether a Host header names this machine. A page cannot send such a header
// by DNS rebinding: its host name is another one.
func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}

// ServeDevTools serves a request whose path is below prefix, which may be empty, as Serve does below
// Path. The caller must have authenticated the request and checked its Host header. Requests with an
// Origin header other than that of DevTools get the status 403. For a WebSocket, ServeDevTools
// returns after the client has disconnected.
func (s *Server) ServeDevTools(w http.ResponseWriter, r *http.Request, prefix string) {
	if o := r.Header.Get("Origin"); len(r.Header.Values("Origin")) > 0 && !strings.HasPrefix(o, "devtools://") {
		http.Error(w, "The Origin header is not that of DevTools.", http.StatusForbidden)
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, prefix)
	if !ok {
		http.NotFound(w, r)
		return
	}
	name = strings.Trim(name, "/")
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	switch dir, id := path.Split(name); {
	case name == "json/version":
		s.serveVersion(ctx, w, r, prefix)
	case name == "json", name == "json/list":
		s.serveList(ctx, w, r, prefix)
	case name == "json/protocol":
		writeJSON(w, protocol())
	case name == "json/new":
		s.serveNew(ctx, w, r, prefix)
	case dir == "json/activate/":
		s.serveTargetCommand(ctx, w, r, "Target.activateTarget", id, "Target activated")
	case dir == "json/close/":
		s.serveTargetCommand(ctx, w, r, "Target.closeTarget", id, "Target is closing")
	case name == "json/clients" && r.Method == http.MethodGet:
		writeJSON(w, s.Clients())
	case dir == "json/clients/" && r.Method == http.MethodDelete:
		s.serveDisconnect(w, r, id)
	case name == "client-slot":
		writeJSON(w, s.slot())
	case name == "devtools/browser", dir == "devtools/browser/":
		s.serveWebSocket(w, r, "")
	case dir == "devtools/page/":
		s.serveWebSocket(w, r, id)
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "   ")
	_ = enc.Encode(v) // an error means that the client has disconnected
}

// writeError writes an error of the browser or a denial. It logs errors of the browser, because
// clients such as Playwright report only the status.
func (s *Server) writeError(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, executor.ErrPolicyDenied):
		status = http.StatusForbidden
	case errors.Is(err, executor.ErrBadArgs):
		status = http.StatusBadRequest
	case errors.Is(err, errHandedOver):
	default:
		s.log.Warn("the browser is not available to a CDP client", "error", err)
	}
	http.Error(w, reason(err), status)
}

// browserPath is the path of the browser's WebSocket. The id in it is not a secret and is not checked:
// the path before it, or the caller, authenticates the client.
const browserPath = "/devtools/browser/relay"

// WebSocketURL returns the URL of the browser's WebSocket, as the endpoint /json/version below base
// does. base is an http or https URL without a final slash.
func WebSocketURL(base string) string {
	return "ws" + strings.TrimPrefix(base, "http") + browserPath
}

// webSocketURL returns the URL of a WebSocket, with the host that the client used.
func webSocketURL(r *http.Request, prefix, path string) string {
	scheme := "ws"
	if r.TLS != nil {
		scheme = "wss"
	}
	return (&url.URL{Scheme: scheme, Host: r.Host, Path: prefix + path}).String()
}

func (s *Server) serveVersion(ctx context.Context, w http.ResponseWriter, r *http.Request, prefix string) {
	var v struct{ ProtocolVersion, Product, Revision, UserAgent, JSVersion string }
	if err := s.call(ctx, "Browser.getVersion", nil, &v); err != nil {
		s.writeError(w, err)
		return
	}
	writeJSON(w, map[string]string{
		"Browser": v.Product, "Protocol-Version": v.ProtocolVersion, "User-Agent": v.UserAgent,
		"V8-Version": v.JSVersion, "WebKit-Version": "537.36 (" + v.Revision + ")",
		"webSocketDebuggerUrl": webSocketURL(r, prefix, browserPath),
	})
}

// describe returns a target as /json/list does.
func describe(r *http.Request, prefix string, t target) map[string]string {
	address := webSocketURL(r, prefix, "/devtools/page/"+t.ID)
	scheme, rest, _ := strings.Cut(address, "://")
	return map[string]string{
		"description": "", "id": t.ID, "title": t.Title, "type": t.Type, "url": t.URL,
		"webSocketDebuggerUrl": address,
		// Chromium's URL is that of a web site, which would receive the secret path.
		"devtoolsFrontendUrl": "devtools://devtools/bundled/inspector.html?" + scheme + "=" + rest,
	}
}

// targets returns the targets that all clients see.
func (s *Server) targets(ctx context.Context, conn executor.CDPConn) ([]target, error) {
	var res struct{ TargetInfos []target }
	if err := callOn(ctx, conn, "Target.getTargets", nil, &res); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(res.TargetInfos, func(t target) bool { return !s.visible(t, nil) }), nil
}

func (s *Server) serveList(ctx context.Context, w http.ResponseWriter, r *http.Request, prefix string) {
	conn, err := s.query(ctx)
	if err != nil {
		s.writeError(w, err)
		return
	}
	defer conn.Close()
	targets, err := s.targets(ctx, conn)
	if err != nil {
		s.writeError(w, err)
		return
	}
	list := []map[string]string{}
	for _, t := range targets {
		list = append(list, describe(r, prefix, t))
	}
	writeJSON(w, list)
}

// serveNew opens a page with the URL in the query, which may be percent-encoded. Without a URL, the
// page is blank.
func (s *Server) serveNew(ctx context.Context, w http.ResponseWriter, r *http.Request, prefix string) {
	if r.Method != http.MethodPut {
		http.Error(w, "Using unsafe HTTP verb "+r.Method+" to invoke /json/new. This action supports only PUT verb.",
			http.StatusMethodNotAllowed)
		return
	}
	address, err := url.PathUnescape(r.URL.RawQuery)
	switch {
	case err != nil:
		err = executor.Errorf(executor.ErrBadArgs, "Percent-encode the URL.", "the query has an invalid escape")
	case address == "":
		address = blankURL
	default:
		address, err = s.checkURL(address)
	}
	if err == nil {
		err = s.audit.ready()
	}
	var id string
	var tab executor.TabID
	if err == nil {
		id, tab, err = s.openPage(ctx, address)
	}
	s.recordRequest(r, "/json/new", tab, address, err)
	if err != nil {
		s.writeError(w, err)
		return
	}
	writeJSON(w, describe(r, prefix, target{ID: id, Type: "page", URL: address}))
}

// openPage opens a page. It returns its target and its tab.
func (s *Server) openPage(ctx context.Context, address string) (id string, tab executor.TabID, err error) {
	conn, err := s.query(ctx)
	if err != nil {
		return "", "", err
	}
	defer conn.Close()
	var res struct{ TargetID string }
	err = callOn(ctx, conn, "Target.createTarget", map[string]any{"url": address}, &res)
	return res.TargetID, conn.TabID(res.TargetID), err
}

// serveTargetCommand sends a command with the id of a target. The text of the response is done.
func (s *Server) serveTargetCommand(
	ctx context.Context, w http.ResponseWriter, r *http.Request, method, id, done string,
) {
	conn, err := s.query(ctx)
	if err != nil {
		s.writeError(w, err)
		return
	}
	defer conn.Close()
	targets, err := s.targets(ctx, conn)
	if err != nil {
		s.writeError(w, err)
		return
	}
	i := slices.IndexFunc(targets, func(t target) bool { return t.ID == id })
	if i < 0 {
		http.Error(w, noSuchTarget(id), http.StatusNotFound)
		return
	}
	tab := conn.TabID(id)
	err = s.audit.ready()
	if err == nil {
		err = callOn(ctx, conn, method, map[string]any{"targetId": id}, nil)
	}
	s.recordRequest(r, method, tab, targets[i].URL, err)
	if err != nil {
		s.writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	_, _ = w.Write([]byte(done))
}

func noSuchTarget(id string) string { return fmt.Sprintf("No such target id: %.100s", id) }

// hasTarget reports whether a client that connects could use a target.
func (s *Server) hasTarget(ctx context.Context, id string) (bool, error) {
	var res struct{ TargetInfo target }
	err := s.call(ctx, "Target.getTargetInfo", map[string]any{"targetId": id}, &res)
	if _, unknown := errors.AsType[*protocolError](err); unknown {
		return false, nil
	}
	return err == nil && res.TargetInfo.ID == id && s.visible(res.TargetInfo, nil), err
}

// recordRequest records a request that acts on a page with a URL, and its tab, which may be empty. err
// is why the request was denied or has failed, or nil.
func (s *Server) recordRequest(r *http.Request, what string, tab executor.TabID, address string, err error) {
	s.audit.record(&Client{Name: clientName(r.UserAgent())}, audit.CDPTool+what, tab, audit.Origin(address), err)
}

// serveDisconnect disconnects a client, also while the audit log is not writable.
func (s *Server) serveDisconnect(w http.ResponseWriter, r *http.Request, id string) {
	if id == "" || !slices.ContainsFunc(s.Clients(), func(c Client) bool { return c.ID == id }) {
		http.Error(w, fmt.Sprintf("No such client: %.100s", id), http.StatusNotFound)
		return
	}
	s.recordRequest(r, "disconnect", "", "", nil)
	s.Disconnect(id)
	w.WriteHeader(http.StatusNoContent)
}

// A slot says whether another client can connect.
type slot struct {
	Mode         string     `json:"mode"`         // "single" or "multi"
	Busy         bool       `json:"busy"`         // no other client can connect
	ActiveClient string     `json:"activeClient"` // name of the client that connected first
	ConnectedAt  *time.Time `json:"connectedAt"`
}

// slot returns the current state of the server.
func (s *Server) slot() slot {
	state := slot{Mode: "multi"}
	if s.opts.MaxClients == 1 {
		state.Mode = "single"
	}
	clients := s.Clients()
	state.Busy = len(clients) >= s.opts.MaxClients
	if len(clients) > 0 {
		state.ActiveClient, state.ConnectedAt = clients[0].Name, &clients[0].Since
	}
	return state
}

// serveWebSocket connects a client. It returns when the client has disconnected.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request, page string) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(w, "This is the address of a WebSocket.", http.StatusUpgradeRequired)
		return
	}
	name := clientName(r.UserAgent())
	if strings.HasPrefix(r.Header.Get("Origin"), "devtools://") {
		name = "DevTools"
	}
	c := newClient(s, Client{ID: randomHex(4), Name: name, Since: time.Now(), Page: page})
	if rejected := s.add(c); rejected != nil {
		http.Error(w, rejected.text, rejected.status)
		return
	}
	defer close(c.ended)
	defer s.remove(c)
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	if page != "" {
		if known, err := s.hasTarget(ctx, page); err != nil {
			s.writeError(w, err)
			return
		} else if !known {
			http.Error(w, noSuchTarget(page), http.StatusNotFound)
			return
		}
	}
	conn, err := s.opts.Browser.ConnectCDP(ctx, &executor.CDPOptions{Name: name})
	if err != nil {
		s.writeError(w, err)
		return
	}
	// The Origin header was checked. Compression costs time, and clients are on this machine or
	// connect through TLS.
	h := &connlimit.HijackRecorder{ResponseWriter: w}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		_ = conn.Close()
		return // Accept has responded
	}
	s.log.Info("CDP client connected", "client", name)
	c.run(conn, ws, h.Hijacked)
	s.log.Info("CDP client disconnected", "client", name, "reason", c.reason)
}

// defaultName is the name of a client that reports none.
const defaultName = "CDP client"

// maxName limits the name of a client, in characters.
const maxName = 60

// clientName returns the name of a client with a User-Agent header: the products before the first
// comment, in letters, digits and punctuation of ASCII.
func clientName(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "(")
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" ./_+-", r) {
			return r
		}
		return -1
	}, name)
	name = strings.TrimSpace(name[:min(len(name), maxName)])
	if name == "" {
		return defaultName
	}
	return name
}
