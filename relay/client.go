package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

const (
	// maxMessage is the maximum size of a command, in bytes. A screenshot that a client puts into a
	// page, or the body of a fulfilled request, can have tens of megabytes.
	maxMessage = 64 << 20
	// writeTimeout limits the time until a client has read one message. During that time, further
	// messages wait in the queue of the CDPConn, which is limited.
	writeTimeout = 30 * time.Second
	// closeTimeout limits the closing handshake of a WebSocket.
	closeTimeout = time.Second
	// callTimeout limits a command of the relay. The browser process responds to these
	// commands, so a hung page does not delay them.
	callTimeout = 10 * time.Second
	// maxBuffer is the capacity of the write buffer that is kept, in bytes.
	maxBuffer = 1 << 20
	// maxSessions limits the CDP sessions of a client.
	maxSessions = 2000
)

// A client is a connected CDP client. One goroutine reads its commands, another one the messages of
// the browser.
type client struct {
	server *Server
	info   Client
	conn   executor.CDPConn
	ws     *websocket.Conn
	net    net.Conn // of ws
	cancel context.CancelFunc
	ended  chan struct{} // closed after the end of run
	wg     sync.WaitGroup

	endOnce sync.Once
	code    websocket.StatusCode // set by end, like reason
	reason  string

	downloads recent // ids of the downloads that events for the client named
	bodies    recent // by request id: the policy allows reading the response
	raw       recent // the same for the request whose raw headers were reported last
	unseen    recent // ids of the requests that began in a page that was handed over

	writeMu sync.Mutex // guards buffer, and serializes writes
	buffer  []byte

	mu       sync.Mutex // guards the fields below and the sessions
	started  bool       // the client's commands are read
	closing  bool       // end was called; background sends nothing more
	sessions map[string]*cdpSession
	root     *cdpSession // for commands without a session id
	watch    string      // id of the session that observes all targets, or ""
	lastID   int64
	pending  map[int64]*command
	deferred map[string]string // hidden targets that were attached automatically: by target id, the session that attached them
	contexts int               // number of browser contexts that the client created or is creating
	windows  map[int64]bool    // ids of the browser's windows that replies to the client named

	releasing sync.Mutex // held while settings are released or restored; acquired before mu
}

func newClient(s *Server, info Client) *client {
	return &client{
		server: s, info: info, ended: make(chan struct{}), cancel: func() {},
		sessions: map[string]*cdpSession{"": newCDPSession("", "", target{Type: "browser"})},
		pending:  map[int64]*command{}, deferred: map[string]string{}, windows: map[int64]bool{},
	}
}

// run serves the client until the client or the browser disconnects.
func (c *client) run(conn executor.CDPConn, ws *websocket.Conn, network net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	ws.SetReadLimit(c.server.maxMessage)
	c.mu.Lock()
	c.conn, c.ws, c.net, c.cancel = conn, ws, network, cancel
	closing := c.closing
	if closing { // end was called before there was something to close
		c.disconnect()
	}
	c.mu.Unlock()
	if closing {
		cancel()
		c.wg.Wait()
		return
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		c.end(websocket.StatusGoingAway, c.receive(ctx).Error())
	}()
	if err := c.start(ctx); err != nil {
		c.end(websocket.StatusGoingAway, reason(err))
	} else {
		c.server.audit.connected(&c.info)
		c.wg.Go(func() { c.watchHandovers(ctx) })
		err := c.read(ctx)
		c.end(websocket.StatusNormalClosure, err.Error())
	}
	_ = conn.Close()
	<-received
	c.wg.Wait()
}

// end disconnects the client, with a status code and a reason for it. Only the first call has an
// effect. It does not wait.
func (c *client) end(code websocket.StatusCode, reason string) {
	c.endOnce.Do(func() {
		c.mu.Lock()
		c.closing = true
		c.reason = reason
		c.code = code
		cancel := c.cancel
		if c.ws != nil { // otherwise run disconnects
			c.disconnect()
		}
		c.mu.Unlock()
		cancel()
	})
}

// disconnect closes both connections of the client in the background. c.mu must be held.
func (c *client) disconnect() {
	c.wg.Go(func() { _ = c.conn.Close() })
	c.wg.Go(func() {
		timer := time.AfterFunc(closeTimeout, func() { _ = c.net.Close() })
		defer timer.Stop()
		_ = c.ws.Close(c.code, strings.ToValidUTF8(c.reason[:min(len(c.reason), 120)], ""))
		_ = c.ws.CloseNow()
	})
}

// background sends a command of the relay to a session without waiting for its result. The goroutine
// that receives messages must not send commands itself: sending can wait for replies.
func (c *client) background(ctx context.Context, sessionID, method string, params map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.wg.Go(func() { _ = c.call(ctx, sessionID, method, params, nil) })
	}
}

// start prepares the connection for the client's commands.
func (c *client) start(ctx context.Context) error {
	if err := c.watchTargets(ctx); err != nil {
		return err
	}
	root := ""
	if c.info.Page != "" {
		var err error
		if root, err = c.attachToPage(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root = c.sessions[root]; c.root == nil { // the page was closed
		return chromiumError(codeInvalidParams, noTarget)
	}
	if root != "" {
		delete(c.sessions, "")
	}
	c.started = true
	return nil
}

// watchTargets starts observing all targets, in a session that the client does not see. Not every
// backend supports this. Without it, the URLs of targets are those of their last event.
func (c *client) watchTargets(ctx context.Context) error {
	var res struct{ SessionID string }
	err := c.call(ctx, "", "Target.attachToBrowserTarget", nil, &res)
	if _, unsupported := errors.AsType[*protocolError](err); unsupported {
		return nil
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	attached := c.sessions[res.SessionID] != nil
	delete(c.sessions, res.SessionID)
	c.watch = res.SessionID
	c.mu.Unlock()
	if !attached {
		return nil
	}
	return c.call(ctx, res.SessionID, "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
}

// attachToPage attaches to the page of the client, and returns the id of the session.
func (c *client) attachToPage(ctx context.Context) (string, error) {
	if err := c.checkTarget(ctx, c.info.Page); err != nil {
		return "", err
	}
	var res struct{ SessionID string }
	err := c.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": c.info.Page, "flatten": true}, &res)
	return res.SessionID, err
}

// read handles the client's commands until it disconnects.
func (c *client) read(ctx context.Context) error {
	for {
		// Canceling the context of Read would close the connection without a closing handshake.
		kind, data, err := c.ws.Read(context.Background())
		switch {
		case err != nil:
			return err
		case kind != websocket.MessageText:
			c.end(websocket.StatusUnsupportedData, "messages are text")
			return errors.New("binary message")
		}
		if err := c.handle(ctx, data); err != nil {
			return err
		}
	}
}

// handle handles one message of the client. It returns an error only if the connection has ended.
func (c *client) handle(ctx context.Context, data []byte) error {
	r, bad := parseRequest(data)
	if bad != nil {
		if r.hasID {
			return c.write(executor.CDPMessage{ID: r.id, Error: bad})
		}
		return c.writeRaw(fmt.Appendf(nil, `{"error":%s}`, encode(bad)))
	}
	s := c.sessionOf(r)
	if s == nil {
		return c.write(executor.CDPMessage{ID: r.id, Error: &executor.CDPError{Code: codeNoSession, Message: "Session with given id not found."}})
	}
	if c.released(s) { // the handover may just have ended
		c.updateSettings(ctx, s, false)
	}
	cmd := &command{id: r.id, session: s, sessionID: s.id, method: r.method, params: r.params}
	if err := c.checkAndAudit(ctx, cmd); err != nil {
		if cmd.failed != nil {
			cmd.failed()
		}
		return c.write(executor.CDPMessage{ID: r.id, SessionID: c.clientSessionID(s), Error: cdpError(r.method, err)})
	}
	if cmd.localResult != nil {
		err := c.write(executor.CDPMessage{ID: r.id, SessionID: c.clientSessionID(s), Result: cmd.localResult})
		if r.method == "Browser.close" {
			c.end(websocket.StatusNormalClosure, "the client closed the browser")
		}
		return err
	}
	set := c.remember(cmd)
	_, err := c.send(ctx, cmd)
	if set { // a handover may have begun since the check
		c.updateSettings(ctx, s, true)
	}
	return err
}

// sessionOf returns the session of a request, or nil if the client has none with the id.
func (c *client) sessionOf(r request) *cdpSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.hasSessionID || r.sessionID == "" {
		return c.root
	}
	if s := c.sessions[r.sessionID]; s != c.root {
		return s
	}
	return nil // the client of a page does not know the id
}

// checkAndAudit returns why the client cannot send a command, or nil. It records the command.
func (c *client) checkAndAudit(ctx context.Context, cmd *command) error {
	rule := table()[cmd.method]
	if rule == nil {
		// The client chooses the method, so it is not recorded.
		err := unknownMethod(cmd.method)
		c.server.audit.record(&c.info, "cdp unknown command", c.originOf(cmd.session), err)
		return err
	}
	err := c.check(ctx, cmd, rule)
	if rule.audited || err != nil {
		c.server.audit.record(&c.info, "cdp "+cmd.method, c.originOf(cmd.session), err)
	}
	return err
}

// check returns why the client cannot send a command, or nil.
func (c *client) check(ctx context.Context, cmd *command, rule *commandRule) error {
	switch {
	case rule.denied != "":
		return unavailable(cmd.method, rule.denied)
	case rule.pageOnly && cmd.session.target.Type == "browser":
		return denied("Send it to the session of a page.", "it would affect all pages of the browser")
	}
	if rule.audited {
		if err := c.server.audit.ready(); err != nil {
			return err
		}
	}
	if err := c.checkHandover(cmd); err != nil {
		return err
	}
	if rule.check == nil {
		return nil
	}
	return rule.check(ctx, c, cmd)
}

// send sends a command to the browser, and returns its id there.
func (c *client) send(ctx context.Context, cmd *command) (int64, error) {
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.pending[id] = cmd
	c.mu.Unlock()
	err := c.conn.Send(ctx, executor.CDPMessage{ID: id, SessionID: cmd.sessionID, Method: cmd.method, Params: cmd.params})
	if err != nil {
		c.forget(id)
	}
	return id, err
}

// forget removes a command that has no reply.
func (c *client) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// call sends a command of the relay to a session, and decodes its result into res, if it is not nil.
func (c *client) call(ctx context.Context, sessionID, method string, params, res any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cmd := &command{sessionID: sessionID, method: method, reply: make(chan executor.CDPMessage, 1)}
	if params != nil {
		cmd.params = encode(params)
	}
	id, err := c.send(ctx, cmd)
	if err != nil {
		return err
	}
	select {
	case m := <-cmd.reply:
		if m.Error != nil {
			return &protocolError{*m.Error}
		}
		if res == nil {
			return nil
		}
		return json.Unmarshal(m.Result, res)
	case <-ctx.Done():
		c.forget(id)
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

// receive forwards the messages of the browser until the end of the connection. It returns why the
// connection ended.
func (c *client) receive(ctx context.Context) error {
	for {
		m, err := c.conn.Receive(ctx)
		if err != nil {
			return err
		}
		var forward bool
		if m.Method == "" {
			forward = c.handleReply(&m)
		} else {
			forward = c.handleEvent(ctx, &m)
		}
		if forward {
			if err := c.write(m); err != nil {
				return err
			}
		}
	}
}

// handleReply completes a command, and reports whether m, which it changes, is for the client.
func (c *client) handleReply(m *executor.CDPMessage) bool {
	c.mu.Lock()
	cmd := c.pending[m.ID]
	delete(c.pending, m.ID)
	c.mu.Unlock()
	switch {
	case cmd == nil:
		return false
	case cmd.reply != nil:
		cmd.reply <- *m
		return false
	case m.Error != nil && cmd.failed != nil:
		cmd.failed()
	case m.Error == nil && c.checkHandover(cmd) != nil: // it was sent before the handover
		m.Result, m.Error = nil, cdpError(cmd.method, errHandedOver)
	case m.Error == nil && cmd.filter != nil:
		m.Result = cmd.filter(m.Result)
	}
	m.ID, m.SessionID = cmd.id, c.clientSessionID(cmd.session)
	return true
}

// clientSessionID returns the id that the client uses for a session: "" for the root session.
func (c *client) clientSessionID(s *cdpSession) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == c.root {
		return ""
	}
	return s.id
}

// write writes a reply or an event.
func (c *client) write(m executor.CDPMessage) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	c.buffer = appendMessage(c.buffer[:0], m)
	err := c.writeLocked(c.buffer)
	if cap(c.buffer) > maxBuffer {
		c.buffer = nil
	}
	return err
}

// writeRaw writes a message that is encoded already.
func (c *client) writeRaw(data []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	return c.writeLocked(data)
}

// writeLocked writes a message. c.writeMu must be held.
func (c *client) writeLocked(data []byte) error {
	// When the context is done, the WebSocket closes the connection, so a client that does not read
	// is disconnected.
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, data)
}
