package bridge

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/internal/connlimit"
)

// Handler returns the handler of the WebSocket, for a caller that serves it on its own loopback
// listener. [Server.Start] serves it, too.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.startWork() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	defer s.endWork()
	port, err := s.checkRequest(r)
	if err != nil {
		s.log.once(err.Error(), "remote", r.RemoteAddr)
		http.Error(w, "Only the extension of chrome-mcp can connect.", http.StatusForbidden)
		return
	}
	hijack := &connlimit.HijackRecorder{ResponseWriter: w}
	ws, err := websocket.Accept(hijack, r, &websocket.AcceptOptions{
		OriginPatterns: s.origins(), // checked again by the library
	})
	if err != nil { // Accept has responded
		s.log.once("not a WebSocket handshake")
		return
	}
	st := &socket{ws: ws, conn: hijack.Hijacked}
	if s.slots.take(hijack.Hijacked) {
		s.log.once("too many connections in handshake; closed one to accept a new one")
	}
	c := s.handshake(st, port)
	s.slots.free(hijack.Hijacked)
	if c == nil {
		return
	}
	if bounded, ok := hijack.Hijacked.(*boundedConn); ok {
		bounded.proved()
	}
	c.run()
}

// origins returns the origins of the extensions that may connect.
func (s *Server) origins() []string {
	var list []string
	for _, id := range s.opts.extensionIDs() {
		list = append(list, extensionOrigin(id))
	}
	return list
}

func extensionOrigin(id string) string { return "chrome-extension://" + id }

// checkRequest returns the port on which a request arrived, or why the request is rejected. The
// error contains nothing of the request.
//
// A page can make a browser connect to any port of this machine, by any name that resolves to it. It
// cannot choose its Origin, and Host is the name that it used.
func (s *Server) checkRequest(r *http.Request) (port int, err error) {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return 0, errors.New("request without a network address")
	}
	local, ok := addr.(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return 0, errors.New("request to an address that is not loopback")
	}
	host, p, err := net.SplitHostPort(r.Host)
	switch {
	case err != nil || p != strconv.Itoa(local.Port),
		host != "127.0.0.1" && host != "localhost" && host != "::1":
		return 0, errors.New("wrong Host header")
	case len(r.Header.Values("Origin")) != 1:
		return 0, errors.New("no Origin header")
	case !slices.Contains(s.origins(), r.Header.Get("Origin")):
		return 0, errors.New("the Origin header is that of a page or of another extension")
	}
	return local.Port, nil
}
