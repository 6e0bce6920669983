package bridge

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A rawClient is a TCP client that writes arbitrary bytes.
type rawClient struct {
	t *testing.T
	*net.TCPConn
	in *bufio.Reader
}

func dialRaw(t *testing.T, port int) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &rawClient{t, conn.(*net.TCPConn), bufio.NewReader(conn)}
}

func (c *rawClient) writeString(s string) { _, _ = io.WriteString(c, s) } // the other end may have hung up

// upgrade returns a WebSocket handshake like the extension's, with additional headers.
func upgrade(port int, more ...string) string {
	return fmt.Sprintf("GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: chrome-extension://%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", port, ourID, strings.Join(more, ""))
}

// open opens a WebSocket and returns the server's response.
func (c *rawClient) open(port int, more ...string) *http.Response {
	c.t.Helper()
	c.writeString(upgrade(port, more...))
	c.SetReadDeadline(time.Now().Add(await.HangLimit))
	res, err := http.ReadResponse(c.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		c.t.Fatalf("WebSocket handshake: %+v, %v", res, err)
	}
	return res
}

// frame returns a WebSocket frame of a client, with a zero mask.
func frame(first byte, payload []byte) string {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return string(append(append(b, 0, 0, 0, 0), payload...))
}

const (
	text         = 0x81
	binaryFrame  = 0x82
	textStart    = 0x01
	continuation = 0x00
	pingFrame    = 0x89
	compressed   = 0xc1
	closingFrame = 0x88
)

// readToEnd reads until the server has closed the connection, and returns what it read.
func (c *rawClient) readToEnd() string {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(await.HangLimit))
	got, err := io.ReadAll(c.in)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		c.t.Errorf("the connection stays open after %q", got)
	}
	return string(got)
}

// TestRawSockets sends input that no WebSocket library sends. The connection is closed without an
// effect on the extension's connection, no file stays open, and the log contains at most one line
// for each kind of input, and no secret.
func TestRawSockets(t *testing.T) {
	tier.Slow(t)
	s, dir, log := start(t)
	key := token(t, s, dir)
	extension := connect(t, s, "real", wire.KeyToken, key)
	extension.answer(echo)
	conn := waitConn(t, s, "real")
	files := openDescriptors(t)

	// A recorded handshake.
	recorded := recordHandshake(t, s.Port(), key)
	await.Until(t, "the removal of a closed connection", func() bool { return len(s.Connections()) == 1 })

	tests := []struct {
		name string
		do   func(t *testing.T, c *rawClient)
	}{
		{"half closed without input", func(_ *testing.T, c *rawClient) { c.CloseWrite(); c.readToEnd() }},
		{"reset", func(_ *testing.T, c *rawClient) { c.writeString(upgrade(s.Port())[:40]); c.SetLinger(0); c.Close() }},
		{"reset after the upgrade", func(_ *testing.T, c *rawClient) { c.open(s.Port()); c.SetLinger(0); c.Close() }},
		{"half closed after the upgrade", func(_ *testing.T, c *rawClient) { c.open(s.Port()); c.CloseWrite(); c.readToEnd() }},
		{"incomplete request", func(_ *testing.T, c *rawClient) {
			c.writeString("GET / HTTP/1.1\r\nHost: 127")
			c.CloseWrite()
			c.readToEnd()
		}},
		{"incomplete frame", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(text, []byte("junk"))[:4])
			c.CloseWrite()
			c.readToEnd()
		}},
		{"endless headers", func(t *testing.T, c *rawClient) {
			c.writeString("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
			for n := 0; n < 4<<20; n += 1 << 10 {
				if _, err := io.WriteString(c, "X: "+strings.Repeat("x", 1<<10-5)+"\r\n"); err != nil {
					return // the server closed the connection
				}
			}
			if got := c.readToEnd(); !strings.Contains(got, "431") {
				t.Errorf("the server sent %q", got)
			}
		}},
		{"other spellings of Host", func(t *testing.T, c *rawClient) {
			for _, host := range []string{"LOCALHOST", "localhost.", "127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]", "127.0.0.1@evil.example", "evil.example#"} {
				c := dialRaw(t, s.Port())
				c.writeString(strings.Replace(upgrade(s.Port(), "Connection: close\r\n"), "Host: 127.0.0.1", "Host: "+host, 1))
				if got := c.readToEnd(); !strings.HasPrefix(got, "HTTP/1.1 4") {
					t.Errorf("Host %s: %.200q", host, got)
				}
			}
			c.Close()
		}},
		{"two Host headers", func(t *testing.T, c *rawClient) {
			c.writeString(upgrade(s.Port(), "Host: evil.example\r\n", "Connection: close\r\n"))
			if got := c.readToEnd(); !strings.HasPrefix(got, "HTTP/1.1 4") {
				t.Errorf("the server sent %.200q", got)
			}
		}},
		{"absolute URL of another host", func(t *testing.T, c *rawClient) {
			c.writeString(strings.Replace(upgrade(s.Port(), "Connection: close\r\n"), "GET /", "GET http://evil.example/", 1))
			if got := c.readToEnd(); !strings.HasPrefix(got, "HTTP/1.1 4") {
				t.Errorf("the server sent %.200q", got)
			}
		}},
		{"several requests", func(t *testing.T, c *rawClient) {
			rejected := strings.Replace(upgrade(s.Port()), "chrome-extension://"+ourID, "https://evil.example", 1)
			c.writeString(rejected + rejected + strings.Replace(rejected, "\r\nHost", "\r\nConnection: close\r\nHost", 1))
			if got := c.readToEnd(); strings.Contains(got, " 101 ") {
				t.Errorf("the server sent %.200q", got)
			}
		}},
		{"request body", func(_ *testing.T, c *rawClient) {
			c.writeString("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n" + strings.Repeat("x", 64<<10))
			c.CloseWrite()
			c.readToEnd()
		}},
		{"unmasked frame", func(_ *testing.T, c *rawClient) { c.open(s.Port()); c.writeString("\x81\x04junk"); c.readToEnd() }},
		{"invalid frame length", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00")
			c.readToEnd()
		}},
		{"huge frame length", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00" + strings.Repeat("x", 1<<20))
			c.readToEnd()
		}},
		{"endless fragments", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(textStart, make([]byte, 1<<10)))
			for range 1 << 10 {
				if _, err := io.WriteString(c, frame(continuation, make([]byte, 1<<10))); err != nil {
					return
				}
			}
			c.readToEnd()
		}},
		{"endless empty fragments", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(textStart, nil))
			c.writeString(strings.Repeat(frame(continuation, nil), 100_000))
			c.readToEnd()
		}},
		{"reserved opcode", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(0x83, []byte("x")))
			c.readToEnd()
		}},
		{"continuation without a start", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(0x80, []byte("x")))
			c.readToEnd()
		}},
		{"long ping", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(pingFrame, make([]byte, 126)))
			c.readToEnd()
		}},
		{"malformed close frame", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(closingFrame, []byte{1}))
			c.readToEnd()
		}},
		{"invalid UTF-8", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(text, []byte("{\"\xff\":1}")))
			c.readToEnd()
		}},
		{"binary", func(_ *testing.T, c *rawClient) {
			c.open(s.Port())
			c.writeString(frame(binaryFrame, []byte("{}")))
			c.readToEnd()
		}},
		{"compression bomb", func(t *testing.T, c *rawClient) {
			res := c.open(s.Port(), "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n")
			if e := res.Header.Get("Sec-WebSocket-Extensions"); e != "" {
				t.Errorf("the server accepted compression: %s", e)
			}
			// 1 GB of zeros begins like this. Without compression it is an error.
			c.writeString(frame(compressed, bytes.Repeat([]byte{0x62, 0x60, 0x18, 0x05, 0xa3, 0x60, 0x14}, 1000)))
			c.readToEnd()
		}},
		{"recorded messages are replayed", func(t *testing.T, c *rawClient) {
			c.writeString(recorded)
			if got := c.readToEnd(); strings.Contains(got, `"welcome"`) || !strings.Contains(got, wire.ReasonBadProof) {
				t.Errorf("the server sent %.500q", got)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.do(t, dialRaw(t, s.Port()))
			checkWorks(t, conn)
			if n := len(s.Connections()); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}

	t.Run("afterwards", func(t *testing.T) {
		await.Until(t, fmt.Sprintf("the end of connections: %d files and sockets were open before them", files), func() bool { return openDescriptors(t) <= files+2 })
		got := map[string]int{}
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
				_, message, _ := strings.Cut(line, "msg=")
				message, _, _ = strings.Cut(message, " remote=")
				got[message]++
			}
		}
		for message, n := range got {
			if n > 1 {
				t.Errorf("%d times: %s", n, message)
			}
		}
		sum := sha256.Sum256(key)
		for _, secret := range []string{record(t, s, dir).Token, string(key), hex.EncodeToString(key), hex.EncodeToString(sum[:]), "evil.example"} {
			if strings.Contains(log.String(), secret) {
				t.Error("the log contains a secret or text of the client")
			}
		}
	})
}

// TestSlowHandshakes checks that many clients that send their handshake slowly or not at all are
// disconnected, also one that sends pings, and that another client can connect afterwards.
func TestSlowHandshakes(t *testing.T) {
	tier.Slow(t)
	t.Parallel()
	s, dir, _ := start(t)
	key := token(t, s, dir)
	extension := connect(t, s, "real", wire.KeyToken, key)
	extension.answer(echo)
	conn := waitConn(t, s, "real")

	done := make(chan struct{}, 2*maxOpen)
	for n := range 2 * maxOpen {
		c := dialRaw(t, s.Port())
		pings := n == 0
		if pings {
			c.open(s.Port())
		}
		go func() {
			defer func() { done <- struct{}{} }()
			request := upgrade(s.Port())
			if n%2 == 0 {
				request = "" // send nothing
			}
			over := make(chan struct{})
			go func() { c.readToEnd(); close(over) }()
			slow := time.NewTicker(wire.HelloTimeout / 50) // the request is longer than 50 bytes
			defer slow.Stop()
			for {
				select {
				case <-over:
					return
				case <-slow.C:
				}
				if pings {
					c.writeString(frame(pingFrame, []byte("x")))
				} else if len(request) > 1 {
					c.writeString(request[:1])
					request = request[1:]
				}
			}
		}()
	}
	checkWorks(t, conn)
	for range 2 * maxOpen {
		await.Receive(t, "end of a handshake", done)
	}
	checkWorks(t, conn)
	connect(t, s, "another", wire.KeyToken, key)
}

// recordHandshake completes a handshake like the extension and returns the bytes that it sent.
func recordHandshake(t *testing.T, port int, key []byte) string {
	t.Helper()
	c := &client{t: t, installation: "recorded", kind: wire.KeyToken, key: key}
	hello, nonce := c.hello()
	raw := dialRaw(t, port)
	raw.open(port)
	helloText, err := wire.Encode(hello)
	if err != nil {
		t.Fatal(err)
	}
	raw.writeString(frame(text, helloText))
	challenge, ok := raw.receive().(*wire.Challenge)
	if !ok {
		t.Fatal("the server sent no challenge")
	}
	tr := &wire.Transcript{ExtensionID: ourID, Installation: hello.Installation, Port: port, NonceC: nonce}
	tr.NonceS, _ = wire.DecodeKey(challenge.Nonce)
	proof, err := wire.Encode(&wire.Proof{MAC: tr.ClientMAC(key)})
	if err != nil {
		t.Fatal(err)
	}
	raw.writeString(frame(text, proof))
	if _, ok := raw.receive().(*wire.Welcome); !ok {
		t.Fatal("the server sent no welcome")
	}
	raw.Close()
	return upgrade(port) + frame(text, helloText) + frame(text, proof)
}

// receive reads one message of the server.
func (c *rawClient) receive() wire.Message {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(await.HangLimit))
	head := make([]byte, 2)
	if _, err := io.ReadFull(c.in, head); err != nil {
		c.t.Fatal(err)
	}
	n := int(head[1])
	if n == 126 {
		if _, err := io.ReadFull(c.in, head); err != nil {
			c.t.Fatal(err)
		}
		n = int(binary.BigEndian.Uint16(head))
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(c.in, payload); err != nil {
		c.t.Fatal(err)
	}
	f, err := wire.Decode(payload)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// openDescriptors returns the number of open files and sockets of this process, or 0 if it is
// unknown.
func openDescriptors(t *testing.T) int {
	t.Helper()
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}
