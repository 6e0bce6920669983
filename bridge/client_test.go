package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

const (
	ourID   = "abcdefghijklmnopabcdefghijklmnop"
	otherID = "ponmlkjihgfedcbaponmlkjihgfedcba"
)

// start returns a listening server, its data directory and its log.
func start(t *testing.T) (*Server, string, *testlog.Buffer) {
	t.Helper()
	dir, log := filepath.Join(t.TempDir(), "data"), &testlog.Buffer{}
	s, err := New(&Options{
		DataDir: dir, ExtensionID: ourID, Port: AnyPort, Name: "a test", Version: "1.2.3",
		Policy: func() Policy { return Policy{Allow: []string{"example.com"}, Subresources: "public"} },
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir, log
}

// publishedPath returns the path of the handshake file of a server.
func publishedPath(s *Server) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published.Path()
}

// record reads the handshake file of a server.
func record(t *testing.T, s *Server, dir string) handshakeRecord {
	t.Helper()
	var r handshakeRecord
	path := filepath.Join(dir, "handshakes", fmt.Sprintf("%d-%d.json", os.Getpid(), s.Port()))
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func token(t *testing.T, s *Server, dir string) []byte {
	t.Helper()
	key, err := wire.DecodeKey(record(t, s, dir).Token)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A client is a client of the server over a real socket, in place of the extension.
type client struct {
	t            *testing.T
	ws           *websocket.Conn
	port         int
	installation string
	kind         string
	key          []byte
	welcome      *wire.Welcome
	tr           *wire.Transcript
}

// dialAs opens a WebSocket with the given headers.
func dialAs(t *testing.T, port int, host string, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ws, response, err := websocket.Dial(await.Context(t), fmt.Sprintf("ws://127.0.0.1:%d/", port), &websocket.DialOptions{HTTPHeader: header, Host: host})
	if err == nil {
		ws.SetReadLimit(-1)
		t.Cleanup(func() { ws.CloseNow() })
	}
	return ws, response, err
}

func dial(t *testing.T, port int) *websocket.Conn {
	t.Helper()
	ws, _, err := dialAs(t, port, "", http.Header{"Origin": {"chrome-extension://" + ourID}})
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// connect completes the handshake and returns the authenticated client.
func connect(t *testing.T, s *Server, installation, kind string, key []byte) *client {
	t.Helper()
	c := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: installation, kind: kind, key: key}
	c.challenge()
	c.send(&wire.Proof{MAC: c.tr.ClientMAC(key)})
	f := c.receive()
	welcome, ok := f.(*wire.Welcome)
	if !ok {
		t.Fatalf("got %T %+v, want welcome", f, f)
	}
	c.welcome = welcome
	return c
}

// hello returns a hello message and its nonce.
func (c *client) hello() (*wire.Hello, []byte) {
	nonce := wire.NewKey()
	return &wire.Hello{
		Installation: c.installation, Ext: wire.Ext{ID: ourID, Version: "1.0", Chrome: "140.0"},
		Nonce: wire.EncodeKey(nonce), Key: c.kind,
	}, nonce
}

// challenge sends hello and checks the server's proof.
func (c *client) challenge() *wire.Challenge {
	c.t.Helper()
	hello, nonce := c.hello()
	c.send(hello)
	f := c.receive()
	ch, ok := f.(*wire.Challenge)
	if !ok {
		c.t.Fatalf("got %T %+v, want challenge", f, f)
	}
	c.tr = &wire.Transcript{ExtensionID: ourID, Installation: c.installation, Port: c.port, NonceC: nonce}
	c.tr.NonceS, _ = wire.DecodeKey(ch.Nonce)
	if !c.tr.VerifyServer(c.key, ch.MAC) {
		c.t.Fatal("the server's proof is wrong")
	}
	return ch
}

func (c *client) send(f wire.Message) {
	c.t.Helper()
	data, err := wire.Encode(f)
	if err != nil {
		c.t.Fatal(err)
	}
	c.sendText(string(data))
}

func (c *client) sendText(text string) {
	c.t.Helper()
	if err := c.ws.Write(await.Context(c.t), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() wire.Message {
	c.t.Helper()
	_, data, err := c.ws.Read(await.Context(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	f, err := wire.Decode(data)
	if err != nil {
		c.t.Fatalf("%v in %.200s", err, data)
	}
	return f
}

// wantRejected checks that the server rejects the connection for a reason and closes it.
func (c *client) wantRejected(reason string) *wire.Rejection {
	c.t.Helper()
	f, ok := c.receive().(*wire.Rejection)
	if !ok || f.Reason != reason || f.Message == "" {
		c.t.Fatalf("got %+v, want a rejection for %s", f, reason)
	}
	c.wantClosed(wire.CloseRefused)
	return f
}

// wantClosed reads pending messages and checks that the connection then closes with a code.
func (c *client) wantClosed(code int) {
	c.t.Helper()
	for {
		if _, _, err := c.ws.Read(await.Context(c.t)); err != nil {
			if got := websocket.CloseStatus(err); int(got) != code {
				c.t.Fatalf("closed with %d (%v), want %d", got, err, code)
			}
			return
		}
	}
}

// answer responds to commands until the connection ends.
func (c *client) answer(with func(*wire.Command) wire.Message) {
	go func() {
		for {
			_, data, err := c.ws.Read(context.Background())
			if err != nil {
				return
			}
			f, err := wire.Decode(data)
			if err != nil {
				return
			}
			var reply wire.Message
			switch f := f.(type) {
			case *wire.Command:
				reply = with(f)
			case *wire.Ping:
				reply = &wire.Pong{TS: f.TS}
			}
			if reply == nil {
				continue
			}
			if data, err = wire.Encode(reply); err == nil {
				c.ws.Write(context.Background(), websocket.MessageText, data)
			}
		}
	}()
}

// echo responds to a command with its params.
func echo(c *wire.Command) wire.Message { return &wire.Result{ID: c.ID, Data: c.Params} }

// waitConn waits for the connection of an installation.
func waitConn(t *testing.T, s *Server, id string) *Conn {
	t.Helper()
	ctx := await.Context(t)
	for {
		changed := s.Changed()
		for _, conn := range s.Connections() {
			if conn.InstallationID() == id {
				return conn
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("installation %s is not connected", id)
		}
	}
}

// checkWorks checks that a call over c succeeds.
func checkWorks(t *testing.T, conn *Conn) {
	t.Helper()
	var got struct{ TabID int }
	if err := conn.Call(await.Context(t), wire.MethodTabAttach, wire.TabRef{TabID: 7}, &got); err != nil || got.TabID != 7 {
		t.Errorf("call over the extension's connection: %+v, %v", got, err)
	}
}

func wantContains(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
}

func dialURL(t *testing.T, url string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ws, response, err := websocket.Dial(await.Context(t), url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"chrome-extension://" + ourID}}})
	if err == nil {
		t.Cleanup(func() { ws.CloseNow() })
	}
	return ws, response, err
}
