package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// callTimeout limits a command of the relay. The browser process responds to these commands, so a
// hung page does not delay them.
const callTimeout = 10 * time.Second

// A browserConn is the connection of a client to the browser. It numbers the commands.
type browserConn struct {
	conn executor.CDPConn

	mu      sync.Mutex // guards the fields below
	lastID  int64
	pending map[int64]*command // without a reply
}

// send sends a command, and returns its id in the browser.
func (b *browserConn) send(ctx context.Context, cmd *command) (int64, error) {
	b.mu.Lock()
	b.lastID++
	id := b.lastID
	b.pending[id] = cmd
	b.mu.Unlock()
	err := b.conn.Send(ctx, executor.CDPMessage{
		ID: id, SessionID: cmd.sessionID, Method: cmd.method, Params: cmd.params,
	})
	if err != nil {
		b.take(id)
	}
	return id, err
}

// take removes the pending command with an id, and returns it, or nil.
func (b *browserConn) take(id int64) *command {
	b.mu.Lock()
	defer b.mu.Unlock()
	cmd := b.pending[id]
	delete(b.pending, id)
	return cmd
}

// call sends a command of the relay to a session, and decodes its result into res, if it is not nil.
func (b *browserConn) call(ctx context.Context, sessionID, method string, params, res any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cmd := &command{sessionID: sessionID, method: method, reply: make(chan executor.CDPMessage, 1)}
	if params != nil {
		cmd.params = encode(params)
	}
	id, err := b.send(ctx, cmd)
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
		b.take(id)
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

// post sends a command of the relay to a session and does not wait for its result.
func (b *browserConn) post(ctx context.Context, sessionID, method string, params json.RawMessage) {
	_, _ = b.send(ctx, &command{
		sessionID: sessionID, method: method, params: params, reply: make(chan executor.CDPMessage, 1),
	})
}

// sessionClosed removes the commands to a session that is detached, which get no reply.
func (b *browserConn) sessionClosed(sessionID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, cmd := range b.pending {
		if cmd.sessionID != sessionID {
			continue
		}
		delete(b.pending, id)
		if cmd.reply != nil {
			cmd.reply <- executor.CDPMessage{
				Error: &executor.CDPError{Code: codeNoSession, Message: "the session is detached"},
			}
		}
	}
}
