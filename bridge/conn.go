package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A Conn is one connection of one installation of the extension. When
// that connects anew there is a new Instance with the same ID. Its methods are
// safe for concurrent use.
type Conn struct {
	server   *Server
	st       stream
	id       string
	session  string
	ext      wire.Ext
	key      string // the kind of key it proved: wire.KeyBoot, …
	sequence int64  // the how many-th connection of the server
	events   *notify.Queue[item]
	done     chan struct{}
	wg       sync.WaitGroup
	ctx      context.Context // of the stream; done when its end was told
	cancel   context.CancelFunc
	wake     chan struct{} // holds one token when there may be something to write

	mu          sync.Mutex // guards what follows
	pending     map[string]*pending
	queue       [][]byte // frames to write
	queued      int      // bytes in queue, and in the frame that is being written
	missedPings int      // pings since the last frame came
	heardAt     time.Time
	err         error // why it ended
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

// ID names the installation: a profile of a browser. It stays the same when
// the extension, the browser or the server starts again.
func (i *Conn) ID() string { return i.id }

// InstanceID is a short name for the installation in this run of its browser and
// of the server. Numbers of tabs mean the same for as long as it is the same.
func (i *Conn) InstanceID() string { return i.session }

// Chrome returns the version of the browser.
func (i *Conn) Chrome() string { return i.ext.Chrome }

// Version returns the version of the extension.
func (i *Conn) Version() string { return i.ext.Version }

// Done is closed when the connection has ended.
func (i *Conn) Done() <-chan struct{} { return i.done }

// Err returns why the connection ended, with ErrExtensionDisconnected; nil
// while it lives.
func (i *Conn) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// run reads and writes until the connection ends.
func (i *Conn) run() {
	i.st.SetReadLimit(wire.MaxFrame)
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
			i.end(errBinary, closeUnsupported, "binary frame")
			return
		case errors.Is(err, errTooLong):
			i.server.log.once(errTooLong.Error(), "instance", i.id)
			i.end(fmt.Errorf("%w: more than %d MiB", errTooLong, wire.MaxFrame>>20), closeTooBig, "frame too long")
			return
		case err != nil:
			i.end(errors.New("the extension closed the connection, or its browser ended"), closeNormal, "")
			return
		}
		i.touch()
		frame, err := wire.Decode(data)
		if err != nil {
			// It has proved itself, so this is a bug of ours. The rest of the
			// connection is none the worse.
			i.server.log.once("a frame of the extension is malformed", "instance", i.id, "error", err)
			continue
		}
		i.handleMessage(frame)
	}
}

// handleMessage does what a frame says.
func (i *Conn) handleMessage(frame wire.Message) {
	known := true
	switch f := frame.(type) {
	case *wire.Result:
		known = i.finish(f.ID, f.Data, nil)
	case *wire.Failure:
		known = i.finish(f.ID, nil, failed(&f.Error))
	case *wire.Event:
		i.events.Put(item{event: &Event{f.Event, f.Data}})
	case *wire.Ping:
		i.send(&wire.Pong{TS: f.TS})
	case *wire.Pong:
	default:
		i.server.log.once("unexpected message type from the extension", "instance", i.id, "type", frame.Type())
	}
	if !known { // an answer after its timeout, or to nobody
		i.server.log.Debug("unexpected reply from the extension", "instance", i.id)
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
			data := i.nextFrame()
			if data == nil {
				break
			}
			if err := i.st.Write(i.ctx, data); err != nil {
				i.end(errors.New("the extension could not be written to"), closeNormal, "")
				return
			}
			i.mu.Lock()
			i.queued -= len(data)
			i.mu.Unlock()
		}
	}
}

func (i *Conn) nextFrame() []byte {
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

// sendHeartbeats pings, and ends a connection that answers nothing.
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
			i.end(fmt.Errorf("the extension did not answer %d pings", silent), closeGoingAway, "no answer to pings")
			return
		}
		i.send(&wire.Ping{TS: time.Now().UnixMilli()})
	}
}

// touch notes that the other side lives.
func (i *Conn) touch() {
	i.mu.Lock()
	i.missedPings, i.heardAt = 0, time.Now()
	i.mu.Unlock()
}

// LastMessageAt returns when the last frame came from the extension, the zero time
// before the first one after the handshake.
func (i *Conn) LastMessageAt() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.heardAt
}

// send queues a frame that nobody waits for. Too much in the queue means that
// the other side does not read, which beat will find out.
func (i *Conn) send(f wire.Message) {
	data, err := wire.Encode(f)
	if err != nil {
		i.server.log.Error("a frame cannot be sent", "error", err)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = i.enqueue(data)
}

// enqueue queues a frame, or says why it cannot. i.mu is held.
func (i *Conn) enqueue(data []byte) error {
	switch {
	case i.err != nil:
		return i.err
	case i.queued+len(data) > wire.MaxQueued:
		return &executor.Error{
			Code: executor.ErrBackpressure, Retryable: true,
			Err:  errors.New("send queue to the extension is full (8 MiB)"),
			Hint: "Wait for the calls that run, and try again.",
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

// end ends the connection once: whoever waits for an answer gets why.
func (i *Conn) end(why error, code int, reason string) {
	i.mu.Lock()
	if i.err != nil {
		i.mu.Unlock()
		<-i.ctx.Done() // somebody else is at it
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

// hintStopped is what to do after chrome-mcp stop.
const hintStopped = "Do not go on: the user stopped this. It does not connect again until the user restarts the program that started chrome-mcp, " +
	"or sends chrome-mcp the signal HUP."

// disconnected returns the error of calls that wait for a connection when it
// ends. It is no reason to try again when the user ended it.
func disconnected(why error) error {
	e := &executor.Error{Code: executor.ErrExtensionDisconnected, Err: why}
	switch {
	case errors.Is(why, ErrStoppedByUser):
		e.Hint = hintStopped
	case errors.Is(why, ErrUnpaired):
		e.Hint = "The user revoked this browser's key. Ask before you continue."
	default:
		e.Retryable = true
		e.Hint = "Try again: the extension connects again by itself while its browser runs."
	}
	return e
}

// failed makes an error of what the extension says.
func failed(p *wire.Problem) error {
	problem := &CommandError{Code: p.Code, Message: p.Message, Data: p.Data}
	for _, known := range executor.Codes() {
		switch {
		case p.Code != known:
		case known == executor.ErrConsentRequired:
			return &executor.Error{Code: known, Err: problem, Retryable: true,
				Hint: "Tell the user that the question is in the popup of the chrome-mcp button in Chrome's toolbar, then try again; or do without scripts."}
		default:
			return &executor.Error{Code: known, Err: problem}
		}
	}
	return &executor.Error{
		Code: executor.ErrInternal, Err: fmt.Errorf("the extension answered with a code that is not known: %w", problem),
		Hint: "Update chrome-mcp and reload its extension.",
	}
}

// A CommandError is what the extension said of a command that it did not do. It is
// the Err of the *executor.Error.
type CommandError struct {
	Code    executor.Code
	Message string
	Data    json.RawMessage // with CDP_ERROR: the browser's own {code, message}; else mostly empty
}

// Error returns the message.
func (p *CommandError) Error() string { return p.Message }
