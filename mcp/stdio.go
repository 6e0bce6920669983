package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest line that a client may send, in bytes. The
// largest honest message is a form with long texts in it.
const maxLine = 10 << 20

// ServeStdio runs one session over standard input and output. Nothing else
// may write to standard output meanwhile.
func (s *Server) ServeStdio(ctx context.Context) error {
	return s.Run(ctx, LineTransport(os.Stdin, os.Stdout))
}

// LineTransport returns a transport for one session of messages that end in
// newlines: the transport of standard input and output. Closing it closes r
// and leaves w open.
//
// The SDK's own ends the session at the first line that it cannot read, and
// with it every tab and login of the agent's. This one answers such a line
// with the error that JSON-RPC has for it (-32700 for what is not JSON or
// longer than 10 MiB, -32600 for what is no message) and goes on. Blank lines
// are ignored. Batches are taken in every version of the protocol. When r ends,
// calls that are not answered have [LastAnswers] to be.
func LineTransport(r io.ReadCloser, w io.Writer) sdk.Transport {
	return &lineTransport{r, &lockedWriter{w: w}}
}

type lineTransport struct {
	r io.ReadCloser
	w *lockedWriter
}

// Connect implements sdk.Transport.
func (t *lineTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	lines := &lineReader{in: bufio.NewReader(t.r), from: t.r, replies: t.w}
	conn, err := (&sdk.IOTransport{Reader: lines, Writer: t.w, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &lineConn{Connection: conn, open: map[jsonrpc.ID]bool{}, closed: make(chan struct{})}, nil
}

// LastAnswers is how long calls have to be answered once the input of a
// [LineTransport] has ended. Hosts kill a server some two seconds after that.
const LastAnswers = 700 * time.Millisecond

// A lineConn keeps two things from the SDK. One is the version of the protocol
// that was agreed on: from 2025-06-18 on it would end the session at a batch. The
// other is the end of the input while calls are not answered, since it drops them:
// a client that writes its requests and closes gets the quick answers.
type lineConn struct {
	sdk.Connection
	closing sync.Once
	closed  chan struct{}

	mu   sync.Mutex // guards what follows
	open map[jsonrpc.ID]bool
	idle chan struct{} // when the end is held back: closed once nothing is open
}

func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.awaitAnswers(ctx)
	}
	if r, ok := m.(*jsonrpc.Request); err == nil && ok && r.IsCall() {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	return m, err
}

func (c *lineConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, r.ID)
		if len(c.open) == 0 && c.idle != nil {
			close(c.idle)
			c.idle = nil
		}
	}
	return err
}

func (c *lineConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// awaitAnswers waits until all calls are answered, as long as there is time.
func (c *lineConn) awaitAnswers(ctx context.Context) {
	c.mu.Lock()
	if len(c.open) == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	select {
	case <-idle:
	case <-c.closed:
	case <-ctx.Done():
	case <-time.After(LastAnswers):
	}
}

// A lockedWriter writes whole messages: the SDK makes one Write of each, and
// so does lineReader.
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

// A lineReader passes on the lines that are messages, and answers the others
// itself.
type lineReader struct {
	in      *bufio.Reader
	from    io.Closer
	replies io.Writer
	ready   []byte // checked, and not yet passed on
	err     error  // from in
}

func (r *lineReader) Close() error { return r.from.Close() }

func (r *lineReader) Read(p []byte) (int, error) {
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
			if err := r.refuse(line, fault); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// line reads one line, without the space around it. Of one that is too long
// it keeps nothing.
func (r *lineReader) line() (line []byte, fault *jsonrpc.Error, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case fault != nil:
		case len(line)+len(part) > maxLine:
			line, fault = nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), fault, err
		}
	}
}

// refuse answers a line that is no message.
func (r *lineReader) refuse(line []byte, fault *jsonrpc.Error) error {
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

// check returns what to pass on for a line, or why it is no message.
func check(line []byte) ([]byte, *jsonrpc.Error) {
	var raw json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "not JSON: " + err.Error()}
	}
	switch line[0] {
	case '[':
		return checkBatch(line)
	case '{':
		if _, err := jsonrpc.DecodeMessage(line); err != nil {
			return nil, invalid("%v", err)
		}
		return append(line, '\n'), nil
	}
	return nil, invalid("neither an object nor an array")
}

// checkBatch takes a batch apart. The SDK waits for an answer to each of its
// requests that are not responses, notifications included, so only calls stay
// together.
func checkBatch(line []byte) ([]byte, *jsonrpc.Error) {
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil || len(batch) == 0 {
		return nil, invalid("the batch is empty")
	}
	var single []byte
	var calls []json.RawMessage
	seen := map[jsonrpc.ID]bool{}
	for i, raw := range batch {
		m, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return nil, invalid("message %d of the batch: %v", i+1, err)
		}
		request, ok := m.(*jsonrpc.Request)
		if !ok || !request.IsCall() {
			single = append(append(single, raw...), '\n')
			continue
		}
		if seen[request.ID] {
			return nil, invalid("message %d of the batch has the id of another", i+1)
		}
		seen[request.ID] = true
		calls = append(calls, raw)
	}
	if len(calls) == 0 {
		return single, nil
	}
	together, err := json.Marshal(calls)
	if err != nil {
		return nil, invalid("%v", err)
	}
	return append(append(single, together...), '\n'), nil
}

func invalid(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not a JSON-RPC message: " + fmt.Sprintf(format, args...)}
}
