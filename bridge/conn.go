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
// there is a new Conn with the same ID. Its methods are safe for concurrent use.
type Conn struct {
	server   *Server
	st       stream
	id       string
	session  string
	ext      wire.Ext
	key      string // the kind of its key, such as wire.KeyToken
	sequence int64  // number of the connection, from 1
	events   *notify.Queue[item]
	done     chan struct{}
	wg       sync.WaitGroup
	ctx      context.Context // of the stream; done when end has finished
	cancel   context.CancelFunc
	wake     chan struct{} // holds a token if queue may contain something

	mu          sync.Mutex // guards the fields below
	pending     map[string]*pending
	queue       [][]byte // messages to write
	queued      int      // bytes in queue, and in the message that is being written
	missedPings int      // pings since the last received message
	heardAt     time.Time
	err         error // why the connection ended; nil while it is open
}

func (s *Server) newInstance(st stream, hello *wire.Hello, session string, dial int64) *Conn {
	i := &Conn{
		server: s, st: st, id: hello.Instance, session: session, ext: hello.Ext, key: hello.Key, sequence: dial,
		events: newEvents(), done: make(chan struct{}), wake: make(chan struct{}, 1),
		pending: map[string]*pending{},
	}
	i.ctx, i.cancel = context.WithCancel(s.ctx)
	return i
}

// ID returns the id of the installation, which is a profile of a browser. A restart of the
// extension, the browser or the server does not change it.
func (i *Conn) ID() string { return i.id }

// InstanceID returns a short id of the installation in this run of its browser and of the server.
// Tab ids of the browser are valid as long as it does not change.
func (i *Conn) InstanceID() string { return i.session }

// Chrome returns the version of the browser.
func (i *Conn) Chrome() string { return i.ext.Chrome }

// Version returns the version of the extension.
func (i *Conn) Version() string { return i.ext.Version }

// Done returns a channel that is closed when the connection has ended.
func (i *Conn) Done() <-chan struct{} { return i.done }

// Err returns why the connection ended, as ErrExtensionDisconnected. It returns nil while the
// connection is open.
func (i *Conn) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// run reads and writes messages until the connection ends.
func (i *Conn) run() {
	i.st.SetReadLimit(wire.MaxMessage)
	i.wg.Go(i.write)
	i.wg.Go(i.sendHeartbeats)
	i.read()
	i.wg.Wait()
}

func (i *Conn) read() {
	for {
		data, err := i.st.Read(i.ctx)
		switch {
		case errors.Is(err, errBinary):
			i.server.log.once(errBinary.Error(), "instance", i.id)
			i.end(errBinary, closeUnsupported, "binary message")
			return
		case errors.Is(err, errTooLong):
			i.server.log.once(errTooLong.Error(), "instance", i.id)
			i.end(fmt.Errorf("%w: more than %d MiB", errTooLong, wire.MaxMessage>>20), closeTooBig, "message too long")
			return
		case err != nil:
			i.end(errors.New("the extension closed the connection, or its browser exited"), closeNormal, "")
			return
		}
		i.touch()
		msg, err := wire.Decode(data)
		if err != nil {
			// The extension is authenticated, so this is a bug of ours. It does not affect other
			// messages.
			i.server.log.once("malformed message from the extension", "instance", i.id, "error", err)
			continue
		}
		i.handleMessage(msg)
	}
}

// handleMessage handles a message of the extension.
func (i *Conn) handleMessage(msg wire.Message) {
	known := true
	switch m := msg.(type) {
	case *wire.Result:
		known = i.finish(m.ID, m.Data, nil)
	case *wire.Failure:
		known = i.finish(m.ID, nil, failed(&m.Error))
	case *wire.Event:
		i.events.Put(item{event: &Event{m.Event, m.Data}})
	case *wire.Ping:
		i.send(&wire.Pong{TS: m.TS})
	case *wire.Pong:
	default:
		i.server.log.once("unexpected message type from the extension", "instance", i.id, "type", msg.Type())
	}
	if !known { // after the timeout, or without a command
		i.server.log.Debug("unexpected response from the extension", "instance", i.id)
	}
}

func (i *Conn) write() {
	for {
		select {
		case <-i.wake:
		case <-i.done:
			return
		}
		for {
			data := i.nextMessage()
			if data == nil {
				break
			}
			if err := i.st.Write(i.ctx, data); err != nil {
				i.end(errors.New("writing to the extension failed"), closeNormal, "")
				return
			}
			i.mu.Lock()
			i.queued -= len(data)
			i.mu.Unlock()
		}
	}
}

func (i *Conn) nextMessage() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.queue) == 0 || i.err != nil {
		return nil
	}
	data := i.queue[0]
	i.queue[0] = nil
	i.queue = i.queue[1:]
	return data
}

// sendHeartbeats sends pings, and ends a connection that does not respond.
func (i *Conn) sendHeartbeats() {
	tick := time.NewTicker(wire.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-i.done:
			return
		}
		i.mu.Lock()
		silent := i.missedPings
		i.missedPings++
		i.mu.Unlock()
		if silent >= wire.MissedHeartbeats {
			i.server.log.Warn("extension timed out; closing connection", "instance", i.id)
			i.end(fmt.Errorf("the extension did not respond to %d pings", silent), closeGoingAway, "no response to pings")
			return
		}
		i.send(&wire.Ping{TS: time.Now().UnixMilli()})
	}
}

// touch records that a message was received.
func (i *Conn) touch() {
	i.mu.Lock()
	i.missedPings, i.heardAt = 0, time.Now()
	i.mu.Unlock()
}

// LastMessageAt returns when the last message was received from the extension. It returns the zero
// time before the first message after the handshake.
func (i *Conn) LastMessageAt() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.heardAt
}

// send queues a message that has no response. If the queue is full, the extension does not read, and
// sendHeartbeats ends the connection.
func (i *Conn) send(msg wire.Message) {
	data, err := wire.Encode(msg)
	if err != nil {
		i.server.log.Error("encoding a message failed", "error", err)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = i.enqueue(data)
}

// enqueue queues an encoded message, or returns why it cannot. i.mu must be held.
func (i *Conn) enqueue(data []byte) error {
	switch {
	case i.err != nil:
		return i.err
	case i.queued+len(data) > wire.MaxQueued:
		return &errs.Error{
			Code: errs.ErrBackpressure, Retryable: true,
			Err:  errors.New("send queue to the extension is full (8 MiB)"),
			Hint: "Wait for the running calls, and try again.",
		}
	}
	i.queue = append(i.queue, data)
	i.queued += len(data)
	select {
	case i.wake <- struct{}{}:
	default:
	}
	return nil
}

// end closes the connection. Calls that wait for a response fail with why. Only the first call has
// an effect; the others wait for it.
func (i *Conn) end(why error, code int, reason string) {
	i.mu.Lock()
	if i.err != nil {
		i.mu.Unlock()
		<-i.ctx.Done() // another goroutine is ending it
		return
	}
	i.err = disconnected(why)
	for id, p := range i.pending {
		delete(i.pending, id)
		i.complete(p, nil, i.err)
	}
	i.events.Close(i.err)
	i.queue = nil
	close(i.done)
	i.mu.Unlock()

	i.server.drop(i)
	i.st.Close(code, reason)
	i.cancel()
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
func (p *CommandError) Error() string { return p.Message }
