package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const initializeLine = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// A lineClient sends lines to a server and reads its replies.
type lineClient struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

// startLines starts a session over pipes and returns its client.
func startLines(t *testing.T) *lineClient {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- NewServer(&fake{}, nil).Run(t.Context(), StdioTransport(inR, outW))
	}()
	c := &lineClient{t, inW, bufio.NewReader(outR)}
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
		if err := <-ended; err != nil && t.Context().Err() == nil {
			t.Errorf("the session ended with %v", err)
		}
	})
	return c
}

func (c *lineClient) send(lines string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, lines); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next line from the server, which must be JSON.
func (c *lineClient) next() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil || !json.Valid([]byte(line)) {
		c.t.Fatalf("got %q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

// expect reads the next line and checks that it contains parts.
func (c *lineClient) expect(parts ...string) {
	c.t.Helper()
	line := c.next()
	for _, part := range parts {
		if !strings.Contains(line, part) {
			c.t.Errorf("got %s, want %s in it", line, part)
		}
	}
}

func TestBadLinesDoNotEndTheSession(t *testing.T) {
	const parse, invalid = `"code":-32700`, `"code":-32600`
	for _, tt := range []struct{ name, line, code, id string }{
		{"broken", `{bad`, parse, `"id":null`},
		{"two values", `{} {}`, parse, `"id":null`},
		{"text", `hello`, parse, `"id":null`},
		{"binary", "\x00\xff\xfe", parse, `"id":null`},
		{"too deep", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), parse, `"id":null`},
		{"number", `42`, invalid, `"id":null`},
		{"string", `"x"`, invalid, `"id":null`},
		{"null", `null`, invalid, `"id":null`},
		{"not a message", `{}`, invalid, `"id":null`},
		{"other version", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, invalid, `"id":7`},
		{"bad id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid, `"id":null`},
		{"bad method", `{"jsonrpc":"2.0","id":"m","method":5}`, invalid, `"id":"m"`},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid, `"id":null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := startLines(t)
			c.send(tt.line + "\n")
			c.expect(tt.code, tt.id)
			c.send(initializeLine + "\n")
			c.expect(`"id":"init"`, `"result"`)
			c.send(tt.line + "\r\n\n \n")
			c.expect(tt.code, tt.id)
			c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n")
			c.expect(`"id":2`, `"result":{}`)
		})
	}
}

// TestUnexpectedMessagesDoNotEndTheSession checks that the SDK replies to or ignores valid JSON-RPC
// messages that are unexpected.
func TestUnexpectedMessagesDoNotEndTheSession(t *testing.T) {
	for name, line := range map[string]string{
		"unexpected result":    `{"jsonrpc":"2.0","id":99,"result":{}}`,
		"unexpected error":     `{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}`,
		"unknown notification": `{"jsonrpc":"2.0","method":"notifications/none"}`,
		"unknown method":       `{"jsonrpc":"2.0","id":3,"method":"none"}`,
		"no method":            `{"jsonrpc":"2.0","id":3,"method":""}`,
		"invalid params":       `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":5}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := startLines(t)
			c.send(initializeLine + "\n")
			c.next()
			c.send(line + "\n" + `{"jsonrpc":"2.0","id":"after","method":"ping"}` + "\n")
			for !strings.Contains(c.next(), `"id":"after"`) {
			}
		})
	}
}

// TestOversizedLine sends a line of ten times mcptransport.MaxMessage and checks the memory that
// reading it takes.
func TestOversizedLine(t *testing.T) {
	c := startLines(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		fmt.Fprint(c.in, `{"jsonrpc":"2.0","id":1,"method":"`)
		mega := bytes.Repeat([]byte("x"), 1<<20)
		for range 10 * mcptransport.MaxMessage >> 20 {
			c.in.Write(mega)
		}
		fmt.Fprint(c.in, `"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	}()
	c.expect(`"code":-32700`, "longer than 10485760 bytes")
	c.expect(`"id":2`)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8*mcptransport.MaxMessage {
		t.Errorf("allocated %d MiB for a discarded line", grown>>20)
	}
}

// TestRepliesAfterEOF checks that a client that writes its requests and closes its output receives
// the replies that arrive within Timing.Drain, and that other calls are canceled.
func TestRepliesAfterEOF(t *testing.T) {
	for _, tt := range []struct {
		name    string
		takes   time.Duration
		replies bool
		ends    time.Duration
	}{
		{"immediately", 0, true, 0},
		{"soon", timing.Default().Drain / 2, true, timing.Default().Drain / 2},
		{"never", time.Hour, false, timing.Default().Drain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				canceled := false
				ex := &fake{listTabs: func(ctx context.Context) ([]executor.Tab, error) {
					select {
					case <-time.After(tt.takes):
						return nil, nil
					case <-ctx.Done():
						canceled = true
						return nil, ctx.Err()
					}
				}}
				lines := initializeLine + `
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tabs_list","arguments":{}}}
`
				var out bytes.Buffer
				start := time.Now()
				if err := NewServer(ex, nil).Run(t.Context(), StdioTransport(io.NopCloser(strings.NewReader(lines)), &out)); err != nil {
					t.Errorf("the session ended with %v", err)
				}
				if took := time.Since(start); took != tt.ends {
					t.Errorf("it ended after %v, want %v", took, tt.ends)
				}
				synctest.Wait()
				if replied := strings.Contains(out.String(), `"id":7,"result"`); replied != tt.replies || canceled == tt.replies {
					t.Errorf("replied %v, canceled %v, want %v, %v: %s", replied, canceled, tt.replies, !tt.replies, &out)
				}
			})
		})
	}
}
