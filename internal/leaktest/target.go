package leaktest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// A target is the target of one visit. It has its own TCP and UDP port, so that everything that
// arrives there belongs to this visit.
type target struct {
	host     string // as the page names it
	port     int
	hits     atomic.Int32 // connections and packets
	requests atomic.Int32 // requests and packets, which can carry data
	hit      notify.Signal

	tcp    net.Listener
	udp    net.PacketConn
	server *http.Server
}

// newTarget starts a target with a host name.
func (s *site) newTarget(t testing.TB, host string) *target {
	t.Helper()
	tg := &target{host: host, hit: notify.NewSignal()}
	for try := 0; tg.udp == nil; try++ {
		tcp, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		tg.port = tcp.Addr().(*net.TCPAddr).Port
		if tg.udp, err = net.ListenPacket("udp4", fmt.Sprintf(":%d", tg.port)); err != nil {
			tcp.Close()
			if try == 20 {
				t.Fatal(err)
			}
			continue
		}
		tg.tcp = tcp
	}
	tg.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tg.requests.Add(1)
			respond(w, r)
		}),
		ErrorLog: log.New(io.Discard, "", 0), // ignores connections without a request
	}
	s.running.Go(func() {
		tg.server.Serve(tls.NewListener(counted{tg.tcp, tg}, s.tls))
	})
	s.running.Go(func() {
		buf := make([]byte, 2048)
		for {
			if _, _, err := tg.udp.ReadFrom(buf); errors.Is(err, net.ErrClosed) {
				return
			} else if err == nil {
				tg.requests.Add(1)
				tg.count()
			}
		}
	})
	s.mu.Lock()
	s.targets = append(s.targets, tg)
	s.mu.Unlock()
	return tg
}

func (tg *target) count() {
	tg.hits.Add(1)
	tg.hit.Notify()
}

func (tg *target) close() {
	tg.server.Close()
	tg.udp.Close()
}

// addr returns the target's host and port.
func (tg *target) addr() string { return fmt.Sprintf("%s:%d", tg.host, tg.port) }

// counted is a listener whose connections are hits, even if no request follows.
type counted struct {
	net.Listener
	target *target
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.target.count()
	}
	return conn, err
}

// pixel is an image of one pixel.
const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\x00\xff\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// respond responds to any request with content for the extension of the path.
func respond(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", "*")
	h.Set("Access-Control-Allow-Private-Network", "true")
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodOptions {
		return
	}
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	_, kind, _ := strings.Cut(name, ".")
	if kind == "bin" {
		h.Set("Content-Disposition", "attachment; filename=target.bin")
	}
	c, ok := contents[kind]
	if !ok {
		c = content{"text/html", targetPage}
	}
	h.Set("Content-Type", c.kind)
	io.WriteString(w, c.body)
}

// A content is the body of a response with its content type.
type content struct{ kind, body string }

const targetPage = "<!doctype html><title>target</title><p>target</p>"

// contents are the responses to paths with an extension. All others are the targetPage.
var contents = map[string]content{
	"gif":    {"image/gif", pixel},
	"js":     {"text/javascript", "self.reached = true;"},
	"css":    {"text/css", "p { color: red }"},
	"json":   {"application/json", "{}"},
	"rules":  {"application/speculationrules+json", "{}"},
	"svg":    {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" id="x"><g id="g"/></svg>`},
	"vtt":    {"text/vtt", "WEBVTT\n"},
	"bin":    {"application/octet-stream", targetPage},
	"stream": {"text/event-stream", "data: x\n\n"},
	"pdf":    {"application/pdf", pdf()},
}
