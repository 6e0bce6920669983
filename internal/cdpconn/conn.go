// Package cdpconn multiplexes Chrome DevTools Protocol (CDP) sessions over one transport.
//
// [*Session] implements cdproto's cdp.Session. In addition, it has one ordered stream of all events
// of a target and of the targets below it. The page layer derives its state from the order of
// Page.frameNavigated, Runtime.executionContextCreated and Target.attachedToTarget. A channel for
// each method would lose that order.
package cdpconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// DefaultCallTimeout limits a call whose context has no deadline. No command that we send takes
// longer in a healthy browser. A page in an endless loop of microtasks never responds.
const DefaultCallTimeout = 30 * time.Second

// EventsDropped is an event that a backend adds to the browser's events. It reports that the
// backend dropped Count events of one method in a session.
const EventsDropped = "ChromeMCP.eventsDropped"

// A Dropped holds the parameters of EventsDropped.
type Dropped struct {
	Method string `json:"method"`
	Count  int    `json:"count"`
}

// ErrClosed is wrapped by the errors of calls on a closed connection.
var ErrClosed = errors.New("connection to the browser closed")

// ErrCallTimeout is wrapped by the errs.ErrTimeout error of a call whose deadline passed.
var ErrCallTimeout = errors.New("the page did not respond in time")

// errBrowserTimeout is the ErrCallTimeout of a call to the browser instead of a page.
var errBrowserTimeout = errs.WithCause("the browser did not respond in time", ErrCallTimeout)

// HungHint is the hint of errors about a page that does not respond.
const HungHint = "The page may be hung: navigate it elsewhere, or close it with Page.Close and open another."

// A Transport carries protocol messages. chromedp.PipeConn implements it. Only one goroutine at a
// time calls Read, and only one calls Write. Close makes both return. The parameters and the result
// of a message must be valid until the next Read. The result of a reply with an error is the
// error as JSON, or nil.
type Transport interface {
	Read(context.Context, *cdproto.Message) error
	Write(context.Context, *cdproto.Message) error
	Close() error
}

// A CommandErrorSource is a Transport whose commands can also fail for reasons other than an error
// of the browser. It reports such a failure by a reply with an error.
type CommandErrorSource interface {
	// Failed returns the transport's error for the command with the given id, or nil if the error
	// is the browser's. It is called once for every reply with an error.
	Failed(id int64) error
}

// jsonOptions decode lone surrogates, which page text can contain, as U+FFFD.
var jsonOptions = jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))

// Unmarshal decodes data, a JSON value of the protocol, into out.
func Unmarshal(data jsonv2.Value, out any) error {
	return jsonv2.Unmarshal(data, out, jsonOptions)
}

// A Conn is a connection to a browser. Its methods are safe for concurrent use. It has one
// goroutine that reads and one that writes.
type Conn struct {
	tr     Transport
	writes chan *cdproto.Message
	done   chan struct{} // closed when the connection is closed
	wg     sync.WaitGroup

	dropped atomic.Int64 // number of events dropped because of a limit

	mu           sync.Mutex // guards the fields below
	nextID       int64
	pending      map[int64]*Pending
	sessions     map[target.SessionID]*Session
	clients      map[*Client]bool
	commands     map[int64]clientCommand // commands of clients without a reply
	popupWindows map[target.ID]*pausedPopupWindow
	err          error // why the connection was closed

	popupWindowTimeout time.Duration // see DelayPopupWindows
}

// New starts a connection over tr. The connection owns tr and closes it.
func New(tr Transport) *Conn {
	c := &Conn{
		tr:           tr,
		writes:       make(chan *cdproto.Message, 64),
		done:         make(chan struct{}),
		pending:      make(map[int64]*Pending),
		sessions:     make(map[target.SessionID]*Session),
		clients:      make(map[*Client]bool),
		commands:     make(map[int64]clientCommand),
		popupWindows: make(map[target.ID]*pausedPopupWindow),
	}
	c.sessions[""] = newSession(c, nil, "", nil)
	c.wg.Go(c.readLoop)
	c.wg.Go(c.writeLoop)
	return c
}

// BrowserSession returns the CDP session of the browser target.
func (c *Conn) BrowserSession() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[""]
}

// Done returns a channel that is closed when the connection is closed, for any reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection was closed, or nil while it is open.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close closes the connection and waits for its goroutines. It always returns nil.
func (c *Conn) Close() error {
	c.end(ErrClosed)
	c.wg.Wait()
	return nil
}

// end closes the connection, with err as the reason. Only the first call has an effect. end does
// not wait for the goroutines of c.
func (c *Conn) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	close(c.done)
	// Copy the sessions, because the reader may use the map until its Read returns.
	pending, sessions := c.pending, slices.Collect(maps.Values(c.sessions))
	c.pending = make(map[int64]*Pending)
	clients := slices.Collect(maps.Keys(c.clients))
	c.mu.Unlock()

	c.tr.Close()
	for _, client := range clients {
		client.end(errs.Errorf(errs.ErrTargetGone, "Connect again.", "%w", ErrClosed))
	}
	for _, p := range pending {
		p.finish(nil, c.closedError(p.method))
	}
	for _, s := range sessions {
		s.markGone()
	}
}

// closedError returns the error of a call of method on a closed connection.
func (c *Conn) closedError(method string) error {
	return errs.Errorf(errs.ErrTargetGone, "Open the page again: the next call starts the browser, or connects to it again.",
		"%w (during %s)", ErrClosed, method)
}

func (c *Conn) writeLoop() {
	for {
		select {
		case msg := <-c.writes:
			if err := c.tr.Write(context.Background(), msg); err != nil {
				c.end(fmt.Errorf("writing to the browser: %w", err))
				return
			}
		case <-c.done:
			return
		}
	}
}

func (c *Conn) readLoop() {
	for {
		msg := new(cdproto.Message)
		if err := c.tr.Read(context.Background(), msg); err != nil {
			c.end(fmt.Errorf("reading from the browser: %w", err))
			return
		}
		if msg.ID != 0 {
			c.reply(msg)
		} else {
			c.event(msg)
		}
	}
}

// reply completes the pending command that msg is the reply to.
func (c *Conn) reply(msg *cdproto.Message) {
	var failed error
	if f, ok := c.tr.(CommandErrorSource); ok && msg.Error != nil {
		failed = f.Failed(msg.ID)
	}
	c.mu.Lock()
	p, command := c.pending[msg.ID], c.commands[msg.ID]
	delete(c.pending, msg.ID)
	delete(c.commands, msg.ID)
	c.mu.Unlock()
	if command.client != nil {
		command.reply(msg)
		return
	}
	if p == nil {
		return // the call has already returned
	}
	result, err := bytes.Clone(msg.Result), failed
	if msg.Error != nil && failed == nil {
		err = &Error{Method: p.method, Code: msg.Error.Code, Message: msg.Error.Message}
	}
	if s := p.session; s.inOrder.Load() && s.stream.put(Event{reply: func() { p.finish(result, err) }}) {
		return // next finishes it after the events before it
	}
	p.finish(result, err)
}

// event updates the sessions and adds the event to the stream of its session. It runs in the
// reading goroutine, so that a child session exists before its first message.
func (c *Conn) event(msg *cdproto.Message) {
	if msg.Method == "" {
		return // an error about a message that the browser could not read; see checkParams
	}
	c.mu.Lock()
	s := c.sessions[msg.SessionID]
	c.mu.Unlock()
	if s == nil {
		return // the session was detached
	}
	if s.client != nil {
		c.forward(s, msg)
		return
	}
	if msg.Error != nil { // an event above the size limit, without its parameters
		c.lost(s, string(msg.Method))
		return
	}
	ev := Event{Session: s, Method: string(msg.Method), Params: msg.Params}
	if isLog(ev.Method) && !s.withinBudget(ev.Method, len(ev.Params)) {
		c.lost(s, ev.Method)
		return
	}
	ev.Params = bytes.Clone(ev.Params)
	switch ev.Method {
	case "Page.frameNavigated", "Page.frameStartedLoading":
		s.countNavigation()
	case EventsDropped:
		var d Dropped
		if Unmarshal(msg.Params, &d) != nil || !isLog(d.Method) || d.Count < 1 || d.Count > maxLost {
			return // invalid event
		}
		c.dropped.Add(int64(d.Count))
		ev = Event{Session: s, Method: d.Method, Lost: d.Count}
	case "Target.attachedToTarget":
		var e target.EventAttachedToTarget
		if Unmarshal(msg.Params, &e) == nil {
			if e.SessionID == "" || e.TargetInfo == nil {
				return // invalid event; the empty id is that of the browser session
			}
			ev.Child = newSession(c, s, e.SessionID, e.TargetInfo)
			c.mu.Lock()
			ended := c.err != nil
			if !ended {
				c.sessions[e.SessionID] = ev.Child
				if e.WaitingForDebugger {
					c.waitForResume(ev.Child, e.TargetInfo)
				}
			}
			c.mu.Unlock()
			if ended {
				return // end has already marked the sessions as gone, and would miss this one
			}
		}
	case "Target.detachedFromTarget":
		var e target.EventDetachedFromTarget
		if Unmarshal(msg.Params, &e) == nil {
			ev.Child = c.drop(e.SessionID)
		}
	}
	s.deliver(ev)
	if ev.Method == "Target.detachedFromTarget" && ev.Child != nil {
		ev.Child.markGone()
		if client := ev.Child.client; client != nil {
			client.end(errs.Errorf(errs.ErrTargetGone, "Connect again.", "the browser ended the session"))
		}
	}
}

// drop removes a session and the sessions below it, and fails their pending calls. It marks the
// sessions below as gone; the caller does that for the returned session. drop returns nil if there
// is no session with the id.
func (c *Conn) drop(id target.SessionID) *Session {
	c.mu.Lock()
	s := c.sessions[id]
	if s == nil {
		c.mu.Unlock()
		return nil
	}
	delete(c.sessions, id)
	var below []*Session
	for cid, child := range c.sessions {
		if child.isBelow(s) {
			below = append(below, child)
			delete(c.sessions, cid)
		}
	}
	gone := func(x *Session) bool { return x == s || x.isBelow(s) }
	var lost []*Pending
	for id, p := range c.pending {
		if gone(p.session) {
			lost = append(lost, p)
			delete(c.pending, id)
		}
	}
	for id, command := range c.commands {
		if gone(command.session) {
			command.client.release()
			delete(c.commands, id)
		}
	}
	c.forgetWaiting(gone)
	c.mu.Unlock()
	for _, p := range lost {
		p.finish(nil, goneError(p.session))
	}
	for _, child := range below {
		child.markGone()
	}
	return s
}

// goneError returns the error of a call on s after its target was closed or removed.
func goneError(s *Session) error {
	if reason := s.EndReason(); reason != nil {
		return reason
	}
	if s.parent != nil && s.parent.parent != nil {
		return errs.Errorf(errs.ErrTargetGone, "Take a snapshot to see the current page.", "the frame was detached")
	}
	return errs.Errorf(errs.ErrTargetGone, "List the tabs to see what is open.", "the tab was closed")
}

// send registers a command of s and queues it for the writing goroutine. If short is true, the
// reply is limited as StartShort describes.
func (c *Conn) send(ctx context.Context, s *Session, method string, params any, short bool) (*Pending, error) {
	var raw jsonv2.Value
	if params != nil {
		var err error
		if raw, err = jsonv2.Marshal(params, jsonOptions); err != nil {
			return nil, fmt.Errorf("encoding the parameters of %s: %w", method, err)
		}
		if err := checkParams(raw); err != nil {
			return nil, errs.Errorf(errs.ErrBadArgs, "Pass such a value as a string of JSON, and parse it in the page.", "%s: %w", method, err)
		}
	}
	p, msg, err := c.register(s, method, raw, short)
	if err != nil {
		return nil, err
	}
	if p.delayed != nil {
		return p, nil
	}
	select {
	case c.writes <- msg:
		return p, nil
	default:
	}
	ctx, cancel := Bounded(ctx)
	defer cancel()
	select {
	case c.writes <- msg:
		return p, nil
	case <-c.done:
		return nil, c.closedError(method)
	case <-ctx.Done():
		c.forget(p)
		return nil, s.callError(ctx, method)
	}
}

// register creates and registers a command of s. The caller must send the returned message, unless
// it is delayed.
func (c *Conn) register(s *Session, method string, params jsonv2.Value, short bool) (*Pending, *cdproto.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, nil, c.closedError(method)
	}
	if c.sessions[s.id] != s {
		return nil, nil, goneError(s)
	}
	c.nextID += 2
	id := c.nextID
	if short {
		id++ // see limitOf
	}
	p := &Pending{session: s, method: method, id: id, done: make(chan struct{})}
	c.pending[p.id] = p
	msg := &cdproto.Message{ID: p.id, SessionID: s.id, Method: cdproto.MethodType(method), Params: params}
	p.delayed = c.delayResume(s, msg)
	return p, msg, nil
}

// forget removes p from the pending commands. Its reply is ignored.
func (c *Conn) forget(p *Pending) {
	c.mu.Lock()
	delete(c.pending, p.id)
	c.mu.Unlock()
}
