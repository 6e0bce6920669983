package cdpconn

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
)

// The limits of a Client.
const (
	// maxReplies limits the unread replies, in bytes. The client requested them, so none is dropped.
	// Unread events are limited by maxQueued.
	maxReplies = 2 * MaxReply
	// maxCommands limits the commands without a reply.
	maxCommands = 512
	// sessionTimeout limits how long a Client waits until the browser has attached or detached its
	// session.
	sessionTimeout = 5 * time.Second
)

// The codes of errors that do not come from the browser, as Chromium uses them.
const (
	codeParse     = -32700
	codeNoSession = -32001
	codeServer    = -32000
)

// A Client is the connection of one CDP client. It has its own session of the browser target, so
// that the browser itself separates what clients enable and intercept. The events and replies of
// this session and of all sessions below it are forwarded to the client in the order in which they
// arrived. They are not decoded. The methods of a Client are safe for concurrent use, except that
// only one goroutine at a time calls Receive.
type Client struct {
	conn    *Conn
	session *Session      // of the browser target
	slots   chan struct{} // contains a value for each command without a reply
	restore func()        // see Connect
	done    chan struct{} // closed when the client has ended
	closed  chan struct{} // closed when the browser has detached session, or sessionTimeout has passed
	signal  notify.Signal // queue may have changed

	mu      sync.Mutex // guards the fields below
	queue   []ClientMessage
	events  int // bytes of the events in queue
	replies int // bytes of the replies in queue
	err     error
}

// A ClientMessage is a command, a reply or an event of a Client.
type ClientMessage struct {
	ID        int64  // of a command and its reply, as chosen by the client
	SessionID string // "" is the client's session of the browser target
	Method    string // of a command or an event
	Params    jsonv2.Value
	Result    jsonv2.Value // of the reply to a successful command
	Error     jsonv2.Value // of the reply to a failed command
}

// A clientCommand is a command of a client without a reply.
type clientCommand struct {
	client  *Client
	session *Session
	id      int64 // as chosen by the client
}

// Connect connects a client. It ignores the cancellation of ctx until the browser has replied, for at
// most sessionTimeout.
//
// When the client ends, restore is called once, directly after the command that detaches its session
// was sent: the browser executes the commands of restore before any later one. It must not block.
func (c *Conn) Connect(ctx context.Context, restore func()) (*Client, error) {
	// The call must not return before the reply, which has the id for detaching the session.
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionTimeout)
	defer cancel()
	var res target.AttachToBrowserTargetResult
	if err := c.BrowserSession().Call(limit, "Target.attachToBrowserTarget", nil, &res); err != nil {
		return nil, err
	}
	client := &Client{
		conn: c, restore: restore, slots: make(chan struct{}, maxCommands),
		done: make(chan struct{}), closed: make(chan struct{}), signal: notify.NewSignal(),
	}
	c.mu.Lock()
	s := c.sessions[res.SessionID]
	if c.err != nil || s == nil {
		c.mu.Unlock()
		return nil, c.closedError("Target.attachToBrowserTarget")
	}
	client.session, s.client = s, client // no event arrives before the first command
	c.clients[client] = true
	c.wg.Go(client.detach)
	c.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		client.end(err)
		return nil, err
	}
	return client, nil
}

// Send sends a command. While maxCommands commands have no reply, it waits. It returns an error only
// if the client has ended or ctx is done. A command with invalid parameters, or with a session that
// the client does not have, gets a reply with an error. A command whose session is detached before
// the reply gets none.
func (cl *Client) Send(ctx context.Context, m ClientMessage) error {
	if len(m.Params) == 0 {
		m.Params = nil
	} else if !m.Params.IsValid(jsonOptions) {
		cl.fail(m, codeParse, "JSON: the parameters are not valid")
		return cl.Err()
	}
	if err := checkParams(m.Params); err != nil {
		cl.fail(m, codeParse, "JSON: "+err.Error())
		return cl.Err()
	}
	select {
	case <-cl.done:
		return cl.Err()
	default:
	}
	select {
	case cl.slots <- struct{}{}:
	case <-cl.done:
		return cl.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c := cl.conn
	c.mu.Lock()
	s := cl.session
	if m.SessionID != "" {
		s = c.sessions[target.SessionID(m.SessionID)]
	}
	if s == nil || s.client != cl || c.sessions[s.id] != s {
		c.mu.Unlock()
		cl.release()
		cl.fail(m, codeNoSession, "Session with given id not found.")
		return cl.Err()
	}
	c.nextID += 2
	id := c.nextID
	c.commands[id] = clientCommand{cl, s, m.ID}
	msg := &cdproto.Message{ID: id, SessionID: s.id, Method: cdproto.MethodType(m.Method), Params: m.Params}
	delayed := c.delayResume(s, msg) != nil
	c.mu.Unlock()
	if delayed {
		return nil
	}
	var err error
	select {
	case c.writes <- msg:
		return nil
	case <-cl.done:
		err = cl.Err()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.mu.Lock()
	if _, ok := c.commands[id]; ok { // not released by drop
		delete(c.commands, id)
		cl.release()
	}
	c.mu.Unlock()
	return err
}

// fail queues the reply that the command m failed.
func (cl *Client) fail(m ClientMessage, code int64, text string) {
	cl.put(ClientMessage{ID: m.ID, SessionID: m.SessionID, Error: errorJSON(code, text)})
}

func errorJSON(code int64, text string) jsonv2.Value {
	raw, err := jsonv2.Marshal(cdproto.Error{Code: code, Message: text}, jsonOptions)
	if err != nil {
		panic(err) // no value of this type is invalid
	}
	return raw
}

// release allows another command. It never waits.
func (cl *Client) release() {
	select {
	case <-cl.slots:
	default:
	}
}

// Receive returns the next message. After the end of the client, it returns the reason.
func (cl *Client) Receive(ctx context.Context) (ClientMessage, error) {
	for {
		cl.mu.Lock()
		if cl.err != nil {
			defer cl.mu.Unlock()
			return ClientMessage{}, cl.err
		}
		if len(cl.queue) > 0 {
			m := cl.queue[0]
			cl.queue[0] = ClientMessage{}
			cl.queue = cl.queue[1:]
			if len(cl.queue) == 0 {
				cl.queue = nil // release the memory of a long queue
			}
			cl.count(m, -1)
			cl.mu.Unlock()
			return m, nil
		}
		cl.mu.Unlock()
		select {
		case <-cl.signal:
		case <-ctx.Done():
			return ClientMessage{}, context.Cause(ctx)
		}
	}
}

// count adds the size of m, times sign, to the counters. cl.mu must be held.
func (cl *Client) count(m ClientMessage, sign int) {
	n := sign * (len(m.Params) + len(m.Result) + len(m.Error) + messageExtra)
	if m.Method != "" {
		cl.events += n
	} else {
		cl.replies += n
	}
}

// Done returns a channel that is closed when the client has ended, for any reason.
func (cl *Client) Done() <-chan struct{} { return cl.done }

// Err returns why the client has ended, or nil.
func (cl *Client) Err() error {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.err
}

// Close ends the client and waits until the browser has detached its session, for at most
// sessionTimeout.
func (cl *Client) Close() {
	cl.end(ErrClosed)
	<-cl.closed
}

// end ends the client, with err as the reason. Only the first call has an effect. It never waits.
func (cl *Client) end(err error) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.endLocked(err)
}

// endLocked is end with cl.mu held.
func (cl *Client) endLocked(err error) {
	if cl.err != nil {
		return
	}
	cl.err, cl.queue = err, nil
	close(cl.done)
	cl.signal.Notify()
}

// detach waits for the end of the client and detaches its session. The browser then ends the
// sessions below it, and disposes of the browser contexts that it created.
func (cl *Client) detach() {
	defer close(cl.closed)
	<-cl.done
	c := cl.conn
	c.mu.Lock()
	delete(c.clients, cl)
	c.mu.Unlock()
	if c.drop(cl.session.id) == nil { // the browser has detached it
		cl.restore()
		return
	}
	cl.session.markGone()
	ctx, cancel := context.WithTimeout(context.Background(), sessionTimeout)
	defer cancel()
	// An error means that the browser exits or hangs.
	p, err := c.BrowserSession().Start(ctx, "Target.detachFromTarget", map[string]any{"sessionId": cl.session.id})
	cl.restore()
	if err == nil {
		_ = p.Wait(ctx, nil)
	}
}

// clientSessionID returns the id of s for the client.
func (cl *Client) clientSessionID(s *Session) string {
	if s == cl.session {
		return ""
	}
	return string(s.id)
}

// put queues a copy of a message. It never waits. If too many events are queued, it
// drops those for which MayDrop returns true. If that is not enough, it ends the client.
func (cl *Client) put(m ClientMessage) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if cl.err != nil {
		return
	}
	cl.count(m, 1)
	over := func() bool { return len(cl.queue) > 0 && (cl.events > maxQueued || cl.replies > maxReplies) }
	if over() && MayDrop(m.Method) {
		cl.count(m, -1)
		cl.conn.dropped.Add(1)
		return
	}
	if over() {
		cl.dropQueued()
	}
	if over() {
		cl.endLocked(errs.Errorf(errs.ErrBackpressure, "Read the messages, or enable fewer events.",
			"the CDP client does not read: %d MiB of messages are queued", (cl.events+cl.replies)>>20))
		return
	}
	m.Params, m.Result, m.Error = bytes.Clone(m.Params), bytes.Clone(m.Result), bytes.Clone(m.Error)
	cl.queue = append(cl.queue, m)
	cl.signal.Notify()
}

// dropQueued drops the queued events for which MayDrop returns true. cl.mu must be held.
func (cl *Client) dropQueued() {
	var kept []ClientMessage
	for _, m := range cl.queue {
		if MayDrop(m.Method) {
			cl.count(m, -1)
			cl.conn.dropped.Add(1)
		} else {
			kept = append(kept, m)
		}
	}
	cl.queue = kept
}

// reply queues the reply to a command.
func (cmd clientCommand) reply(msg *cdproto.Message) {
	m := ClientMessage{ID: cmd.id, SessionID: cmd.client.clientSessionID(cmd.session), Result: msg.Result}
	if msg.Error != nil {
		m.Result, m.Error = nil, msg.Result
		if m.Error == nil {
			m.Error = errorJSON(msg.Error.Code, msg.Error.Message)
		}
	}
	cmd.client.put(m)
	cmd.client.release()
}

// forward queues an event of a session of a client. It runs in the reading goroutine, so that a
// child session exists before its first message.
func (c *Conn) forward(s *Session, msg *cdproto.Message) {
	client, method := s.client, string(msg.Method)
	if msg.Error != nil {
		c.lost(s, method)
		return
	}
	if isFlood(method) && !s.withinBudget(method, len(msg.Params)) {
		c.dropped.Add(1)
		return
	}
	if method == "Target.attachedToTarget" || method == "Target.detachedFromTarget" {
		var e target.EventAttachedToTarget // the other event has its id, too
		if err := Unmarshal(msg.Params, &e); err != nil || e.SessionID == "" {
			client.end(fmt.Errorf("invalid event %s", method))
			return
		}
		if method == "Target.attachedToTarget" {
			child := newSession(c, s, e.SessionID, nil)
			child.client = client
			c.mu.Lock()
			if c.sessions[s.id] == s && c.sessions[e.SessionID] == nil { // s was not dropped
				c.sessions[e.SessionID] = child
				if e.WaitingForDebugger {
					c.waitForResume(child, e.TargetInfo)
				}
			}
			c.mu.Unlock()
		} else if gone := c.drop(e.SessionID); gone != nil {
			gone.markGone()
		}
	}
	client.put(ClientMessage{SessionID: client.clientSessionID(s), Method: method, Params: msg.Params})
}

// isFlood reports whether a page can cause any number of events of a method, and some of them may be
// dropped. Their rate is limited, so that they do not delay other messages.
func isFlood(method string) bool {
	return isLog(method) || method == "Log.entryAdded" || strings.HasPrefix(method, "Network.")
}
