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
	return &stdioTransport{r, w, timing.Current().Drain}
}

type stdioTransport struct {
	r     io.ReadCloser
	w     io.Writer
	drain time.Duration // timing.Timing.Drain
}

// Connect implements sdk.Transport.
func (t *stdioTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	life, cancel := context.WithCancel(ctx)
	closed := make(chan struct{})
	c := &stdioConn{
		in: bufio.NewReader(t.r), out: t.w, drain: t.drain, received: make(chan received), closed: closed, canceled: life.Done(),
		close: sync.OnceValue(func() error {
			close(closed)
			cancel()
			return t.r.Close()
		}),
	}
	go c.readMessages() // until its input ends or is closed: nothing else ends a read of standard input
	return c, nil
}

// A stdioConn is a connection with one message per line. It hides the end of the input from the SDK
// while calls are running. The SDK would drop their replies. With the delay, a client that writes its
// requests and closes its output receives the replies to quick calls.
type stdioConn struct {
	in       *bufio.Reader // used by readMessages only
	inErr    error         // of in
	received chan received
	calls    InFlight
	drain    time.Duration
	closed   <-chan struct{}
	canceled <-chan struct{} // when the connection is closed, or the context of Connect is done
	close    func() error

	mu  sync.Mutex // guards out: each message is one Write
	out io.Writer
}

// received is a message of the client, or the error that ended the input.
type received struct {
	message jsonrpc.Message
	err     error
}

// SessionID implements sdk.Connection.
func (c *stdioConn) SessionID() string { return "" }

// Close implements sdk.Connection.
func (c *stdioConn) Close() error { return c.close() }

// Read implements sdk.Connection.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	var next received
	select {
	case next = <-c.received:
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.Is(next.err, io.EOF) {
		c.calls.Wait(c.drain, c.canceled)
	}
	if r, ok := next.message.(*jsonrpc.Request); ok && r.IsCall() {
		c.calls.Begin()
	}
	return next.message, next.err
}

// Write implements sdk.Connection.
func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, ok := m.(*jsonrpc.Response); !ok && ctx.Err() != nil {
		return ctx.Err()
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		err = c.writeLine(line)
	}
	if _, ok := m.(*jsonrpc.Response); ok {
		c.calls.End()
	}
	return err
}

func (c *stdioConn) writeLine(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// readMessages passes the messages of the client to Read.
func (c *stdioConn) readMessages() {
	for {
		m, err := c.next()
		select {
		case c.received <- received{m, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// next reads the next valid message. It replies to other lines with an error.
func (c *stdioConn) next() (jsonrpc.Message, error) {
	for c.inErr == nil {
		var line []byte
		var m jsonrpc.Message
		var fault *jsonrpc.Error
		line, fault, c.inErr = c.line()
		if fault == nil && len(line) > 0 {
			m, fault = decode(line)
		}
		switch {
		case fault != nil:
			if err := c.replyError(line, fault); err != nil {
				return nil, err
			}
		case m != nil:
			return m, nil
		}
	}
	return nil, c.inErr
}

// line reads one line and trims white space. It discards a line that is too long.
func (c *stdioConn) line() (line []byte, fault *jsonrpc.Error, err error) {
	for {
		part, err := c.in.ReadSlice('\n')
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
func (c *stdioConn) replyError(line []byte, fault *jsonrpc.Error) error {
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
	return c.writeLine(reply)
}

// isID reports whether raw is a string or a number.
func isID(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9')
}

// decode returns the message on a line, or an error if there is none. The SDK ignores what follows a
// JSON value, so that the line is checked first.
func decode(line []byte) (jsonrpc.Message, *jsonrpc.Error) {
	var raw json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "not JSON: " + err.Error()}
	}
	switch line[0] {
	case '[':
		return nil, invalid("batches are not supported; send one message per line")
	case '{':
		m, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			return nil, invalid("%v", err)
		}
		return m, nil
	}
	return nil, invalid("not an object")
}

func invalid(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not a JSON-RPC message: " + fmt.Sprintf(format, args...)}
}
