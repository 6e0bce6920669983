package mcptransport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// MaxMessage is the maximum length of a message from a client, in bytes. The largest legitimate one
// is a form with long texts.
const MaxMessage = 10 << 20

// NewStdio returns the stdio transport over r and w, as mcp.StdioTransport describes it.
func NewStdio(r io.ReadCloser, w io.Writer) sdk.Transport {
	return &stdioTransport{r, &lockedWriter{w: w}, timing.Current().Drain}
}

type stdioTransport struct {
	r     io.ReadCloser
	w     *lockedWriter
	drain time.Duration // timing.Timing.Drain
}

// Connect implements sdk.Transport.
func (t *stdioTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	lines := &messageReader{in: bufio.NewReader(t.r), from: t.r, replies: t.w}
	conn, err := (&sdk.IOTransport{Reader: lines, Writer: t.w, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(ctx)
	return &stdioConn{Connection: conn, closed: life.Done(), close: cancel, drain: t.drain}, nil
}

// A stdioConn hides the end of the input from the SDK while calls are running. The SDK would drop
// their replies. With the delay, a client that writes its requests and closes its output receives
// the replies to quick calls.
type stdioConn struct {
	sdk.Connection
	calls  InFlight
	closed <-chan struct{} // also when the context of Connect is done
	close  func()
	drain  time.Duration
}

func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.calls.Wait(c.drain, c.closed)
	}
	if r, ok := m.(*jsonrpc.Request); err == nil && ok && r.IsCall() {
		c.calls.Begin()
	}
	return m, err
}

func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.calls.End()
	}
	return err
}

func (c *stdioConn) Close() error {
	c.close()
	return c.Connection.Close()
}

// A lockedWriter serializes writes. The SDK and messageReader both write a complete message with
// one Write.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (l *lockedWriter) Close() error { return nil }

// A messageReader reads lines and returns only valid messages. It replies to other lines with an
// error.
type messageReader struct {
	in      *bufio.Reader
	from    io.Closer
	replies io.Writer
	ready   []byte // checked, but not yet returned by Read
	err     error  // of in
}

func (r *messageReader) Close() error { return r.from.Close() }

func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var line []byte
		var fault *jsonrpc.Error
		if line, fault, r.err = r.line(); fault == nil && len(line) > 0 {
			r.ready, fault = check(line)
		}
		if fault != nil {
			if err := r.replyError(line, fault); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// line reads one line and trims white space. It discards a line that is too long.
func (r *messageReader) line() (line []byte, fault *jsonrpc.Error, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case fault != nil:
		case len(line)+len(part) > MaxMessage:
			line, fault = nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: fmt.Sprintf("the line is longer than %d bytes", MaxMessage)}
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), fault, err
		}
	}
}

// replyError replies to a line that is not a valid message.
func (r *messageReader) replyError(line []byte, fault *jsonrpc.Error) error {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	id := json.RawMessage("null")
	if fault.Code == jsonrpc.CodeInvalidRequest && json.Unmarshal(line, &request) == nil && request.Method != nil && isID(request.ID) {
		id = request.ID
	}
	reply, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, fault})
	if err != nil {
		return err
	}
	_, err = r.replies.Write(append(reply, '\n'))
	return err
}

// isID reports whether raw is a string or a number.
func isID(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9')
}

// check returns the messages to read for a line, or an error if the line is not a valid message.
func check(line []byte) ([]byte, *jsonrpc.Error) {
	var raw json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "not JSON: " + err.Error()}
	}
	switch line[0] {
	case '[':
		return nil, invalid("batches are not supported; send one message per line")
	case '{':
		if _, err := jsonrpc.DecodeMessage(line); err != nil {
			return nil, invalid("%v", err)
		}
		return append(line, '\n'), nil
	}
	return nil, invalid("not an object")
}

func invalid(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not a JSON-RPC message: " + fmt.Sprintf(format, args...)}
}
