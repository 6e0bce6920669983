package extension

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpshare"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

var _ executor.CDPBrowser = (*Backend)(nil)

// ConnectCDP connects a CDP client to the shared tabs, and to the tabs that sessions and clients
// opened. All browsers appear as one. Chrome attaches one debugger to a tab, which the client shares
// with the tools and with other clients; it is attached at the first command that needs it. What is
// not about one tab is answered here: the browser target, and the list of targets.
//
// A client needs the user's consent to scripts on a site, as Eval does. A command that needs it
// waits for the user's answer. While a secret is in a page, ConnectCDP returns ErrPolicyDenied. The
// extension popup shows the names of the clients, and the user can disconnect each.
func (b *Backend) ConnectCDP(ctx context.Context, opts *executor.CDPOptions) (executor.CDPConn, error) {
	live := b.connectedInstallations()
	if len(live) == 0 {
		return nil, b.DisconnectedError()
	}
	for _, in := range live {
		if err := in.ready(ctx); err != nil {
			return nil, err
		}
	}
	b.forgetClosed(ctx)
	cancel, err := b.secrets.ConnectClient(opts)
	if err != nil {
		return nil, err
	}
	name := ""
	if opts != nil {
		name = pagetext.Truncate(opts.Name, maxClientName)
	}
	client, err := b.hub.connect(live[0].connection().Chrome(), name)
	if err != nil {
		cancel()
	}
	return client, err
}

// forgetClosed makes the guard of secrets forget the tabs that were closed after they were unshared:
// the extension does not report that. A tab of a browser that does not respond may be open.
func (b *Backend) forgetClosed(ctx context.Context) {
	closed := b.secrets.Unshared()
	for _, in := range b.allInstallations() {
		var open wire.Targets
		if c := in.connection(); len(closed) == 0 || c == nil || c.Call(ctx, wire.MethodOpenTargets, wire.Targets{Targets: closed}, &open) != nil {
			return
		}
		closed = slices.DeleteFunc(closed, func(target string) bool { return slices.Contains(open.Targets, target) })
	}
	b.secrets.Closed(closed)
}

// maxClientName is the maximum length of the name of a client, in characters.
const maxClientName = 60

// maxUnread is the size of the unread messages of a client, in bytes, beyond which events for which
// cdpconn.MayDrop returns true are dropped. At four times as much the connection ends.
const maxUnread = 16 << 20

// A cdpClient is an executor.CDPConn. hub.mu guards its fields.
type cdpClient struct {
	hub      *hub
	id       string
	name     string // in errors
	shown    bool   // the extension popup shows the name
	chrome   string // version
	messages *notify.Queue[executor.CDPMessage]
	unread   atomic.Int64
	sessions map[string]*cdpSession
	root     *cdpSession // of the browser target
	sending  int         // what weigh returns for the commands without a result
	waiting  int         // the same of the commands that wait for the debugger
	stored   int         // size of what is stored for its sessions, in bytes
	undoing  int         // commands without a result that undo what the client changed
	undone   chan struct{}
	err      error // why the connection ended
}

// Send implements executor.CDPConn.
func (c *cdpClient) Send(_ context.Context, m executor.CDPMessage) error {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	s := c.sessions[m.SessionID]
	if s == nil {
		c.put(executor.CDPMessage{ID: m.ID, SessionID: m.SessionID, Error: errNoSession})
		return nil
	}
	s.command(m)
	return nil
}

// Receive implements executor.CDPConn.
func (c *cdpClient) Receive(ctx context.Context) (executor.CDPMessage, error) {
	m, err := c.messages.Next(ctx)
	if err == nil {
		c.unread.Add(-sizeOf(m))
	}
	return m, err
}

var errClientClosed = errors.New("the connection was closed")

// TabID implements executor.CDPConn.
func (c *cdpClient) TabID(target string) executor.TabID {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if t, kind := c.hub.findTarget(target); kind == cdpshare.PageTarget {
		return t.clientTabID
	}
	return ""
}

// Close implements executor.CDPConn. What the client changed is undone when Close returns, unless a
// page does not respond.
func (c *cdpClient) Close() error {
	c.hub.mu.Lock()
	c.end(errClientClosed)
	c.hub.mu.Unlock()
	select {
	case <-c.undone:
	case <-time.After(c.hub.backend.timing.UndoCDP):
	}
	return nil
}

// end ends the connection, with err as the reason. hub.mu must be held.
func (c *cdpClient) end(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.messages.Close(err)
	c.hub.clients = slices.DeleteFunc(c.hub.clients, func(x *cdpClient) bool { return x == c })
	if c.shown && !c.hub.closed {
		c.hub.announce()
	}
	c.leave(slices.Collect(maps.Values(c.sessions)))
	clear(c.sessions)
	if c.undoing == 0 {
		close(c.undone)
	}
}

// leave removes sessions of c from their tabs, and undoes what they changed. hub.mu must be held.
func (c *cdpClient) leave(sessions []*cdpSession) {
	byTab := make(map[*cdpTab][]*cdpSession)
	for _, s := range sessions {
		s.setup.takeWaiting()
		c.stored -= s.stored
		s.stored = 0
		if s.tab != nil {
			byTab[s.tab] = append(byTab[s.tab], s)
		}
	}
	for t, mine := range byTab {
		t.leave(mine)
	}
}

// undo sends a command to a target that undoes what c changed. hub.mu must be held.
func (c *cdpClient) undo(target *cdpTarget, method string, params any) {
	c.queueUndo(target.tab, wire.MethodCDP, target.command(c.id, method, params))
}

// queueUndo sends a command to the extension of a tab that undoes what c changed. Close waits for its
// result. hub.mu must be held.
func (c *cdpClient) queueUndo(t *cdpTab, method string, params any) {
	err := t.queue(context.Background(), method, params, func(_ json.RawMessage, err error) {
		c.hub.logFailure(err)
		if c.undoing--; c.undoing == 0 && c.err != nil {
			close(c.undone)
		}
	})
	if err == nil {
		c.undoing++
	}
}

// put queues a message. hub.mu must be held.
func (c *cdpClient) put(m executor.CDPMessage) {
	if c.err != nil {
		return
	}
	size := sizeOf(m)
	switch unread := c.unread.Load() + size; {
	case unread > maxUnread && cdpconn.MayDrop(m.Method):
		return
	case unread > 4*maxUnread:
		c.end(executor.Errorf(executor.ErrBackpressure, "Read the messages, or enable fewer events.",
			"the CDP client does not read: %d MiB of messages are queued", unread>>20))
		return
	}
	c.unread.Add(size)
	c.messages.Put(m)
}

// sizeOf returns the size of a message in a queue, in bytes.
func sizeOf(m executor.CDPMessage) int64 {
	return int64(len(m.Params)+len(m.Result)+len(m.Method)) + 200
}

// member returns a member of a JSON object, or the zero value if there is none of this type. Like the
// browser, it distinguishes upper and lower case in names.
func member[T any](object json.RawMessage, name string) (value T) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) == nil {
		_ = json.Unmarshal(members[name], &value)
	}
	return value
}

// mustJSON returns the JSON of a value that can be encoded. It does not copy or check a
// json.RawMessage.
func mustJSON(v any) json.RawMessage {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug: only our own types are encoded
	}
	return data
}
