package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"
	"golang.org/x/time/rate"
)

// Limits of what an agent sends.
const (
	maxLine     = 9 << 20 // bytes; results of our MCP server have at most 8 MiB
	maxRequests = 64      // that are not yet answered
	maxInvalid  = 100     // lines without a message between them
)

// floodLimits are the numbers of bytes and messages that an agent may send in a burst, and per second
// after it.
type floodLimits struct {
	burstBytes, burstMessages int
	bytes, messages           rate.Limit
}

// defaultFloodLimits allow a large burst, because a session that is loaded repeats its history. The
// rates are several times those of the fastest models.
var defaultFloodLimits = floodLimits{burstBytes: 64 << 20, burstMessages: 150_000, bytes: 1 << 20, messages: 2_000}

// drainTimeout bounds the wait for the last messages of an agent that exited.
const drainTimeout = time.Second

// incoming is the output of an agent, checked before the connection reads it. It passes one message
// at a time: the next one is read when the one before was handled. So a request is handled after
// the updates before it, an agent that is too fast waits in its write, and at most one message is
// in memory.
type incoming struct {
	source io.ReadCloser
	lines  *bufio.Reader
	log    *slog.Logger
	fail   func(error)

	ready chan struct{} // closed by start
	rest  []byte        // of the line that the connection reads

	bytes, messages *rate.Limiter
	invalid         int

	mu       sync.Mutex // protects the fields below
	changed  *sync.Cond
	waiting  bool // for the message that was passed
	requests int
	stopped  bool

	ended chan struct{} // closed at the end of source
}

func newIncoming(source io.ReadCloser, flood floodLimits, log *slog.Logger, fail func(error)) *incoming {
	in := &incoming{
		source: source, lines: bufio.NewReaderSize(source, 64<<10), log: log, fail: fail,
		bytes: rate.NewLimiter(flood.bytes, flood.burstBytes), messages: rate.NewLimiter(flood.messages, flood.burstMessages),
		ready: make(chan struct{}),
		ended: make(chan struct{}),
	}
	in.changed = sync.NewCond(&in.mu)
	return in
}

// start lets the connection read.
func (in *incoming) start() { close(in.ready) }

// stop ends the reading.
func (in *incoming) stop() {
	in.mu.Lock()
	in.stopped = true
	in.changed.Broadcast()
	in.mu.Unlock()
	_ = in.source.Close()
}

// drain waits for the end of the source, at most for limit.
func (in *incoming) drain(limit time.Duration) {
	select {
	case <-in.ended:
	case <-time.After(limit):
	}
}

// Read implements io.Reader. One call returns parts of one line only.
func (in *incoming) Read(p []byte) (int, error) {
	<-in.ready
	if len(in.rest) == 0 {
		line, err := in.next()
		if err != nil {
			close(in.ended)
			return 0, err
		}
		in.rest = line
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// next returns the next line with a message that the connection handles.
func (in *incoming) next() ([]byte, error) {
	for {
		in.mu.Lock()
		for in.waiting && !in.stopped {
			in.changed.Wait()
		}
		stopped := in.stopped
		in.mu.Unlock()
		if stopped {
			return nil, io.EOF
		}
		line, err := in.line()
		if err == nil && (!in.bytes.AllowN(time.Now(), len(line)) || !in.messages.Allow()) {
			err = errors.New("it sent too much in a short time")
		}
		if err == nil {
			var ok bool
			if ok, err = in.accept(line); ok {
				return line, nil
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				in.fail(err)
			}
			return nil, io.EOF
		}
	}
}

// line reads a line. It returns io.EOF if the source ended.
func (in *incoming) line() ([]byte, error) {
	var line []byte
	for {
		part, err := in.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("it sent a line of more than %d bytes", maxLine)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, io.EOF // also if it was closed during the read
		}
	}
}

// A header has the parts of a message that decide what it is. Its types are those with which the
// connection decodes a message.
type header struct {
	Version string            `json:"jsonrpc"`
	ID      *json.RawMessage  `json:"id"`
	Method  string            `json:"method"`
	Params  json.RawMessage   `json:"params"`
	Result  json.RawMessage   `json:"result"`
	Error   *acp.RequestError `json:"error"`
}

// accept reports whether the connection gets a line. Only these do: updates of sessions, requests,
// responses, and the cancellation of requests.
func (in *incoming) accept(line []byte) (bool, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return false, nil
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.ID == nil && h.Method == "" || h.ID != nil && h.Method == acp.ClientMethodSessionUpdate {
		in.invalid++
		in.log.Warn("invalid message of the agent", "line", short(string(line)))
		if in.invalid > maxInvalid {
			return false, errors.New("it does not write messages of the Agent Client Protocol")
		}
		return false, nil
	}
	in.invalid = 0
	switch {
	case h.Method == "": // a response
		return true, nil
	case h.ID == nil && h.Method == "$/cancel_request":
		return true, nil
	case h.ID == nil && h.Method != acp.ClientMethodSessionUpdate:
		return false, nil // the protocol has notifications that are optional
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting = true
	if h.ID != nil {
		if in.requests == maxRequests {
			return false, fmt.Errorf("it sent more than %d requests at the same time", maxRequests)
		}
		in.requests++
	}
	return true, nil
}

// handled lets the next message pass.
func (in *incoming) handled() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting = false
	in.changed.Broadcast()
}

// answered is called when a request has its answer.
func (in *incoming) answered() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.requests--
}

// outgoing is the input of an agent. Writing to it does not wait for the agent.
type outgoing struct {
	fail func(error)
	wg   sync.WaitGroup

	mu      sync.Mutex // protects the fields below
	target  io.WriteCloser
	queue   chan []byte
	bytes   int
	stopped bool
}

const (
	maxQueue      = 256 // messages
	maxQueueBytes = 2 * maxPrompt
)

func newOutgoing(target io.WriteCloser, fail func(error)) *outgoing {
	o := &outgoing{fail: fail, target: target, queue: make(chan []byte, maxQueue)}
	o.wg.Go(func() {
		for message := range o.queue {
			_, _ = target.Write(message) // if the agent exited, its output ends too
			o.mu.Lock()
			o.bytes -= len(message)
			o.mu.Unlock()
		}
	})
	return o
}

// Write queues a message. It fails if the agent does not read.
func (o *outgoing) Write(message []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
		return 0, io.ErrClosedPipe
	}
	if o.bytes+len(message) > maxQueueBytes || len(o.queue) == maxQueue {
		err := errors.New("it does not read its input")
		o.fail(err)
		return 0, err
	}
	o.bytes += len(message)
	o.queue <- bytes.Clone(message)
	return len(message), nil
}

// stop closes the input of the agent.
func (o *outgoing) stop() {
	o.mu.Lock()
	if !o.stopped {
		o.stopped = true
		close(o.queue)
	}
	o.mu.Unlock()
	_ = o.target.Close()
	o.wg.Wait()
}
