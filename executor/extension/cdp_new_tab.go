package extension

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// replyLater replies to m with the result of do, which it calls in a goroutine without hub.mu.
func (s *cdpSession) replyLater(m executor.CDPMessage, do func(context.Context) (any, error)) {
	h := s.client.hub
	h.backend.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.backend.timing.OpenTab)
		defer cancel()
		result, err := do(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil {
			s.fail(m, cdpError(err))
			return
		}
		s.reply(m, result)
	})
}

// openTab opens a tab at url. If the tab cannot be navigated there, openTab closes it.
func (c *cdpClient) openTab(ctx context.Context, url string) (wire.Tab, error) {
	b := c.hub.backend
	in := b.preferredInstallation()
	if in == nil {
		return wire.Tab{}, b.DisconnectedError()
	}
	st, info, err := in.openForClient(ctx)
	if err == nil && url != "" && url != "about:blank" {
		err = in.navigateForClient(ctx, c.id, info.TabID, url)
	}
	if err != nil && st != nil {
		session.CloseAbandoned(ctx, host{b}, st, b.log)
	}
	return info, err
}

// closeTarget closes a tab, or stops sharing it if the user opened it. The reply follows.
func (s *cdpSession) closeTarget(m executor.CDPMessage, t *cdpTab) {
	s.replyLater(m, func(ctx context.Context) (result any, err error) {
		t.in.mu.Lock()
		st := t.tab.sessionTab
		t.in.mu.Unlock()
		if st != nil {
			_, err = host{t.in.backend}.CloseTab(ctx, st)
		}
		return map[string]any{"success": true}, err
	})
}

// openForClient opens a tab for a CDP client. If it returns a tab and an error, the caller must close
// the tab.
func (in *installation) openForClient(ctx context.Context) (*session.Tab, wire.Tab, error) {
	st, err := in.open(nil)
	if err != nil {
		return nil, wire.Tab{}, err
	}
	_, t, info := in.backend.locate(st)
	if t == nil {
		return nil, wire.Tab{}, executor.Errorf(executor.ErrTargetGone, "Try again.", "the new tab was closed immediately")
	}
	return st, info, context.Cause(ctx)
}

// navigateForClient navigates a tab for the client with an id.
func (in *installation) navigateForClient(ctx context.Context, client string, tab int, url string) error {
	conn := in.connection()
	if conn == nil {
		return in.backend.DisconnectedError()
	}
	command := wire.CDPCommand{
		TabID: tab, Method: "Page.navigate", Params: mustJSON(map[string]string{"url": url}), Client: client,
	}
	return conn.Call(ctx, wire.MethodCDP, command, nil)
}
