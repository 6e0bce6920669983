package compose

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// The kinds of processes that have a dashboard.
const (
	KindServer = "server"
	kindHost   = "MCP host"
)

// watchedCalls reports the calls in a workspace to the dashboard.
type watchedCalls struct{ workspace *dashboard.Workspace }

// CallStarted implements mcp.CallObserver.
func (w watchedCalls) CallStarted(c mcp.Call) (ended func(mcp.CallOutcome)) {
	end := w.workspace.CallStarted(dashboard.Call(c))
	return func(o mcp.CallOutcome) { end(o.Code, o.Line) }
}

// A Dashboard is the dashboard of this process.
type Dashboard struct {
	cancel   func() // cancels a delayed start
	starting sync.WaitGroup
	server   *dashboard.Server // set when starting is done; nil if the start failed
}

// StartDashboard serves the dashboard with the workspaces on board and the questions on desk until
// stop is called. It starts to listen after delay.
func StartDashboard(
	s *cli.Settings, kind string, board *dashboard.Board, desk *handover.Desk, delay time.Duration, log *slog.Logger,
) *Dashboard {
	ctx, cancel := context.WithCancel(context.Background())
	d := &Dashboard{cancel: cancel}
	d.starting.Go(func() {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
		var err error
		if d.server, err = dashboard.Listen(dashboard.Options{
			DataDir: s.Data, Kind: kind, Version: s.Version, Board: board, Desk: desk, Logger: log,
		}); err != nil {
			log.Warn("the dashboard is not available", "error", err)
		}
	})
	return d
}

// available waits for the start of the dashboard and reports whether it succeeded.
func (d *Dashboard) available() bool {
	d.starting.Wait()
	return d.server != nil
}

// Stop ends the dashboard.
func (d *Dashboard) Stop() {
	d.cancel()
	d.starting.Wait()
	d.server.Close()
}
