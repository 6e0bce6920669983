package mcptransport

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

func TestLastLineWithoutNewline(t *testing.T) {
	c := &stdioConn{in: bufio.NewReader(strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)), out: io.Discard}
	m, err := c.next()
	if r, ok := m.(*jsonrpc.Request); err != nil || !ok || r.Method != "ping" {
		t.Errorf("got %+v, %v", m, err)
	}
	if m, err := c.next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v after the last line", m, err)
	}
}

// TestCloseEndsRead checks that Close ends a Read although closing the input does not, as for standard
// input.
func TestCloseEndsRead(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	c, err := NewStdio(io.NopCloser(in), io.Discard).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := c.Read(t.Context())
		ended <- err
	}()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := await.Receive(t, "Read to return", ended); !errors.Is(err, io.EOF) {
		t.Errorf("Read returned %v", err)
	}
}

// FuzzLines checks that for any input, each message can be encoded as a line, and each reply is valid
// JSON.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"{bad", "42", "[]", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `[{"jsonrpc":"2.0","id":1,"method":"x"}]`, "\r\n\n", "{}{}", `{"jsonrpc":"2.0"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var replies strings.Builder
		c := &stdioConn{in: bufio.NewReader(strings.NewReader(in)), out: &replies}
		for {
			m, err := c.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := jsonrpc.EncodeMessage(m); err != nil {
				t.Errorf("returned %+v: %v", m, err)
			}
		}
		for line := range strings.Lines(replies.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("replied %q", line)
			}
		}
	})
}
