package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// maxMessage is the maximum size of a command, in bytes. A screenshot that a client puts into a page,
// or the body of a fulfilled request, can have tens of megabytes.
const maxMessage = 64 << 20

// A client is a connected CDP client. One goroutine reads its commands, another one the messages of
// the browser.
type client struct {
	server   *Server
	info     Client
	conn     *clientConn // set by run, like browser and cancel
	browser  *browserConn
	cancel   context.CancelFunc
	sessions *sessionTree
	requests *requests
	ended    chan struct{} // closed after the end of run
	wg       sync.WaitGroup

	endOnce sync.Once
	code    websocket.StatusCode // set by end, like reason
	reason  string

	downloads recent // by id: whether an event for the client named the download

	mu       sync.Mutex     // guards the fields below, and what run sets while end may be called
	closing  bool           // end was called; background sends nothing more
	contexts int            // number of browser contexts that the client created or is creating
	windows  map[int64]bool // ids of the browser's windows that replies to the client named
}

func newClient(s *Server, info Client) *client {
	return &client{
		server: s, info: info, ended: make(chan struct{}), cancel: func() {},
		sessions: newSessionTree(), requests: &requests{server: s}, windows: map[int64]bool{},
	}
}

// run serves the client until the client or the browser disconnects.
func (c *client) run(conn executor.CDPConn, ws *websocket.Conn, network net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	ws.SetReadLimit(c.server.maxMessage)
	c.mu.Lock()
	c.conn, c.cancel = &clientConn{ws: ws, net: network}, cancel
	c.browser = &browserConn{conn: conn, pending: map[int64]*command{}}
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
		if c.conn != nil { // otherwise run disconnects
			c.disconnect()
		}
		c.mu.Unlock()
		cancel()
	})
}

// disconnect closes both connections of the client in the background. c.mu must be held.
func (c *client) disconnect() {
	c.wg.Go(func() { _ = c.browser.conn.Close() })
	c.wg.Go(func() { c.conn.close(c.code, c.reason) })
}

// background sends a command of the relay to a session without waiting for its result. The goroutine
// that receives messages must not send commands itself: sending can wait for replies.
func (c *client) background(ctx context.Context, sessionID, method string, params map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.wg.Go(func() { _ = c.browser.call(ctx, sessionID, method, params, nil) })
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
	if !c.sessions.start(root) { // the page was closed
		return chromiumError(codeInvalidParams, noTarget)
	}
	return nil
}

// watchTargets starts observing all targets, in a session that the client does not see. Not every
// backend supports this. Without it, the URLs of targets are those of their last event.
func (c *client) watchTargets(ctx context.Context) error {
	var res struct{ SessionID string }
	err := c.browser.call(ctx, "", "Target.attachToBrowserTarget", nil, &res)
	if _, unsupported := errors.AsType[*protocolError](err); unsupported {
		return nil
	}
	if err != nil {
		return err
	}
	if !c.sessions.observe(res.SessionID) {
		return nil
	}
	return c.browser.call(ctx, res.SessionID, "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
}

// attachToPage attaches to the page of the client, and returns the id of the session.
func (c *client) attachToPage(ctx context.Context) (string, error) {
	if err := c.checkTarget(ctx, c.info.Page); err != nil {
		return "", err
	}
	var res struct{ SessionID string }
	err := c.browser.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": c.info.Page, "flatten": true}, &res)
	return res.SessionID, err
}

// read handles the client's commands until it disconnects.
func (c *client) read(ctx context.Context) error {
	for {
		// Canceling the context of Read would close the connection without a closing handshake.
		kind, data, err := c.conn.ws.Read(context.Background())
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
			return c.conn.write(executor.CDPMessage{ID: r.id, Error: bad})
		}
		return c.conn.writeRaw(fmt.Appendf(nil, `{"error":%s}`, encode(bad)))
	}
	s := c.sessions.ofRequest(r)
	if s == nil {
		return c.conn.write(executor.CDPMessage{
			ID: r.id, Error: &executor.CDPError{Code: codeNoSession, Message: "Session with given id not found."},
		})
	}
	if s.settings.isReleased() { // the handover may just have ended
		c.updateSettings(ctx, s, false)
	}
	cmd := &command{id: r.id, session: s, sessionID: s.id, method: r.method, params: r.params}
	if err := c.checkAndAudit(ctx, cmd); err != nil {
		if cmd.failed != nil {
			cmd.failed()
		}
		return c.conn.write(executor.CDPMessage{ID: r.id, SessionID: c.sessions.clientID(s), Error: cdpError(r.method, err)})
	}
	if cmd.localResult != nil {
		err := c.conn.write(executor.CDPMessage{ID: r.id, SessionID: c.sessions.clientID(s), Result: cmd.localResult})
		if r.method == "Browser.close" {
			c.end(websocket.StatusNormalClosure, "the client closed the browser")
		}
		return err
	}
	set := s.settings.remember(cmd)
	_, err := c.browser.send(ctx, cmd)
	if set { // a handover may have begun since the check
		c.updateSettings(ctx, s, true)
	}
	return err
}

// checkAndAudit returns why the client cannot send a command, or nil. It records the command.
func (c *client) checkAndAudit(ctx context.Context, cmd *command) error {
	rule := table()[cmd.method]
	if rule == nil {
		// The client chooses the method, so it is not recorded.
		err := unknownMethod(cmd.method)
		c.server.audit.record(&c.info, audit.CDPTool+"unknown command", c.tabOf(cmd), cmd.session.currentOrigin(), err)
		return err
	}
	err := c.check(ctx, cmd, rule)
	if rule.audited || err != nil {
		c.server.audit.record(&c.info, audit.CDPTool+cmd.method, c.tabOf(cmd), cmd.session.currentOrigin(), err)
	}
	return err
}

// tabOf returns the id of the tab that a command is for, or "". A command to the browser can name a
// page.
func (c *client) tabOf(cmd *command) executor.TabID {
	id := c.sessions.pageOf(cmd.session)
	if id == "" {
		id, _ = cmd.text("targetId")
	}
	return c.browser.conn.TabID(id)
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

// receive forwards the messages of the browser until the end of the connection. It returns why the
// connection ended.
func (c *client) receive(ctx context.Context) error {
	for {
		m, err := c.browser.conn.Receive(ctx)
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
			if err := c.conn.write(m); err != nil {
				return err
			}
		}
	}
}

// handleReply completes a command, and reports whether m, which it changes, is for the client.
func (c *client) handleReply(m *executor.CDPMessage) bool {
	cmd := c.browser.take(m.ID)
	switch {
	case cmd == nil:
		return false
	case cmd.reply != nil:
		cmd.reply <- *m
		return false
	case m.Error != nil && cmd.failed != nil:
		cmd.failed()
	case m.Error == nil && c.checkHandover(cmd) != nil: // it was sent before the handover
		if len(object(m.Result)) > 0 {
			m.Result, m.Error = nil, cdpError(cmd.method, errResultDropped)
		}
	case m.Error == nil && cmd.filter != nil:
		m.Result = cmd.filter(m.Result)
	}
	m.ID, m.SessionID = cmd.id, c.sessions.clientID(cmd.session)
	return true
}
