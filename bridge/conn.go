package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A Conn is a connection of an installation of the extension. If the installation connects again,
// there is a new Conn with the same InstallationID. Its methods are safe for concurrent use.
type Conn struct {
	server       *Server
	st           stream
	installation string // the id of the installation
	instanceID   string // the id of its browser instance
	ext          wire.Ext
	key          string // the kind of its key, such as wire.KeyToken
	sequence     int64  // number of the connection, from 1
	events       *notify.Queue[item]
	done         chan struct{}
	wg           sync.WaitGroup
	ctx          context.Context // of the stream; done when end has finished
	cancel       context.CancelFunc
	queue        *notify.Queue[[]byte] // messages to write
	policy       wire.Policy           // the last one that was sent; guarded by server.policyMu once registered

	mu          sync.Mutex // guards the fields below
	pending     map[string]*pending
	queued      int // what weigh returns for the messages in queue, and for the one that is being written
	missedPings int // pings since the last received message
	heardAt     time.Time
	err         error // why the connection ended; nil while it is open
}

func (s *Server) newConn(st stream, hello *wire.Hello, instanceID string, sequence int64) *Conn {
	c := &Conn{
		server: s, st: st, installation: hello.Installation, instanceID: instanceID, ext: hello.Ext, key: hello.Key, sequence: sequence,
		events: notify.NewQueue[item](0), queue: notify.NewQueue[[]byte](0), done: make(chan struct{}),
		pending: map[string]*pending{},
	}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	return c
}

// InstallationID returns the id of the installation, which is a profile of a browser. A restart of
// the extension, the browser or the server does not change it.
func (c *Conn) InstallationID() string { return c.installation }

// InstanceID returns a short id of the installation in this run of its browser and of the server.
// Tab ids of the browser are valid as long as it does not change.
func (c *Conn) InstanceID() string { return c.instanceID }

// Chrome returns the version of the browser.
func (c *Conn) Chrome() string { return c.ext.Chrome }

// Version returns the version of the extension.
func (c *Conn) Version() string { return c.ext.Version }

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended, as ErrExtensionDisconnected. It returns nil while the
// connection is open.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// run reads and writes messages until the connection ends.
func (c *Conn) run() {
	c.st.SetReadLimit(wire.MaxMessage)
	c.wg.Go(c.write)
	c.wg.Go(c.sendHeartbeats)
	c.read()
	c.wg.Wait()
}

func (c *Conn) read() {
	for {
		data, err := c.st.Read(c.ctx)
		switch {
		case errors.Is(err, errBinary):
			c.server.log.once(errBinary.Error(), "installation", c.installation)
			c.end(errBinary, closeUnsupported, "binary message")
			return
		case errors.Is(err, errTooLong):
			c.server.log.once(errTooLong.Error(), "installation", c.installation)
			c.end(fmt.Errorf("%w: more than %d MiB", errTooLong, wire.MaxMessage>>20), closeTooBig, "message too long")
			return
		case err != nil:
			c.end(errors.New("the extension closed the connection, or its browser exited"), closeNormal, "")
			return
		}
		c.touch()
		msg, err := wire.Decode(data)
		if err != nil {
			// The extension is authenticated, so this is a bug of ours. It does not affect other
			// messages.
			c.server.log.once("malformed message from the extension", "installation", c.installation, "error", err)
			continue
		}
		c.handleMessage(msg)
	}
}

// handleMessage handles a message of the extension.
func (c *Conn) handleMessage(msg wire.Message) {
	known := true
	switch m := msg.(type) {
	case *wire.Result:
		known = c.finish(m.ID, m.Data, nil)
	case *wire.Failure:
		known = c.finish(m.ID, nil, failed(&m.Error))
	case *wire.Event:
		c.events.Put(item{event: &Event{m.Event, m.Data}})
	case *wire.Ping:
		c.send(&wire.Pong{TS: m.TS})
	case *wire.Pong:
	default:
		c.server.log.once("unexpected message type from the extension", "installation", c.installation, "type", msg.Type())
	}
	if !known { // after the timeout, or without a command
		c.server.log.Debug("unexpected response from the extension", "installation", c.installation)
	}
}

// writeErrorDelay is how long a connection stays open after a failed write, so that the reader can end
// it with a better reason: a message that is too long makes writes fail before its read returns.
const writeErrorDelay = time.Second

func (c *Conn) write() {
	for {
		data, err := c.queue.Next(context.Background())
		if err != nil || c.Err() != nil { // what is still queued is not written after the end
			return
		}
		if err := c.st.Write(c.ctx, data); err != nil {
			select { // usually the reader finds out why
			case <-c.done:
			case <-time.After(writeErrorDelay):
			}
			c.end(errors.New("writing to the extension failed"), closeNormal, "")
			return
		}
		c.mu.Lock()
		c.queued -= weigh(data)
		c.mu.Unlock()
	}
}

// sendHeartbeats sends pings, and ends a connection that does not respond.
func (c *Conn) sendHeartbeats() {
	tick := time.NewTicker(wire.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.done:
			return
		}
		c.mu.Lock()
		silent := c.missedPings
		c.missedPings++
		c.mu.Unlock()
		if silent >= wire.MissedHeartbeats {
			c.server.log.Warn("extension timed out; closing connection", "installation", c.installation)
			c.end(fmt.Errorf("the extension did not respond to %d pings", silent), closeGoingAway, "no response to pings")
			return
		}
		c.send(&wire.Ping{TS: time.Now().UnixMilli()})
	}
}

// touch records that a message was received.
func (c *Conn) touch() {
	c.mu.Lock()
	c.missedPings, c.heardAt = 0, time.Now()
	c.mu.Unlock()
}

// LastMessageAt returns the time at which the last message was received from the extension. It
// returns the zero time before the first message after the handshake.
func (c *Conn) LastMessageAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heardAt
}

// send queues a message that has no response. If the queue is full, the extension does not read,
// and sendHeartbeats ends the connection.
func (c *Conn) send(msg wire.Message) {
	data, err := wire.Encode(msg)
	if err != nil {
		c.server.log.Error("encoding a message failed", "error", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.enqueue(data)
}

// maxWeight limits what one message counts in the queue. So a message of any size is accepted, one of
// them at a time, and smaller ones before and after it.
const maxWeight = wire.MaxQueued * 3 / 4

// weigh returns what a message counts in the queue.
func weigh(data []byte) int { return min(len(data), maxWeight) }

// enqueue queues an encoded message, or returns why it cannot. c.mu must be held.
func (c *Conn) enqueue(data []byte) error {
	switch {
	case c.err != nil:
		return c.err
	case c.queued+weigh(data) > wire.MaxQueued:
		return &errs.Error{
			Code: errs.ErrBackpressure, Retryable: true,
			Err:  errors.New("send queue to the extension is full (8 MiB)"),
			Hint: "Wait for the running calls, and try again.",
		}
	}
	c.queue.Put(data)
	c.queued += weigh(data)
	return nil
}

// end closes the connection. Calls that wait for a response fail with why. Only the first call has
// an effect; the others wait for it.
func (c *Conn) end(why error, code int, reason string) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		<-c.ctx.Done() // another goroutine is ending it
		return
	}
	c.err = disconnected(why)
	for id, p := range c.pending {
		delete(c.pending, id)
		c.complete(p, nil, c.err)
	}
	c.events.Close(c.err)
	c.queue.Close(c.err)
	close(c.done)
	c.mu.Unlock()

	c.server.drop(c)
	c.st.Close(code, reason)
	c.cancel()
}

// hintStopped is the hint after chrome-mcp stop.
const hintStopped = "Do not continue: the user stopped it. The extension does not reconnect until the user restarts the program that started chrome-mcp, " +
	"or sends chrome-mcp the signal HUP."

// disconnected returns the error of calls on a connection that ended because of why. It is not
// retryable if the user ended the connection.
func disconnected(why error) error {
	e := &errs.Error{Code: errs.ErrExtensionDisconnected, Err: why}
	switch {
	case errors.Is(why, ErrStoppedByUser):
		e.Hint = hintStopped
	case errors.Is(why, ErrUnpaired):
		e.Hint = "The user revoked this browser's key. Ask the user before you continue."
	default:
		e.Retryable = true
		e.Hint = "Try again: the extension reconnects automatically while its browser is running."
	}
	return e
}

// failed returns the error of a command that failed in the extension.
func failed(p *wire.Problem) error {
	problem := &CommandError{Code: p.Code, Message: p.Message, Data: p.Data}
	for _, known := range errs.Codes() {
		switch {
		case p.Code != known:
		case known == errs.ErrConsentRequired:
			return &errs.Error{Code: known, Err: problem, Retryable: true,
				Hint: "Tell the user that the prompt is in the popup of the chrome-mcp button in Chrome's toolbar, then try again; or do without scripts."}
		case known == errs.ErrUnknownMethod:
			return &errs.Error{Code: known, Err: problem, Hint: "Update chrome-mcp and reload its extension."}
		default:
			return &errs.Error{Code: known, Err: problem}
		}
	}
	return &errs.Error{
		Code: errs.ErrInternal, Err: fmt.Errorf("the extension returned an unknown error code: %w", problem),
		Hint: "Update chrome-mcp and reload its extension.",
	}
}

// A CommandError is the error of a command that failed in the extension. It is the Err of the
// *errs.Error.
type CommandError struct {
	Code    errs.Code
	Message string
	Data    json.RawMessage // for CDP_ERROR, the browser's {code, message}; otherwise usually empty
}

// Error returns the message.
func (e *CommandError) Error() string { return e.Message }
