package main

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
	kindServer = "server"
	kindHost   = "MCP host"
)

// watchedCalls reports the calls of a session to the dashboard.
type watchedCalls struct{ session *dashboard.BoardSession }

// CallStarted implements mcp.CallObserver.
func (w watchedCalls) CallStarted(c mcp.Call) (ended func(mcp.CallOutcome)) {
	end := w.session.CallStarted(dashboard.Call(c))
	return func(o mcp.CallOutcome) { end(o.Code, o.Line) }
}

// A dashboardService is the dashboard of this process.
type dashboardService struct {
	cancel   func() // cancels a delayed start
	starting sync.WaitGroup
	server   *dashboard.Server // set when starting is done; nil if the start failed
}

// startDashboard serves the dashboard with the sessions on board and the questions on desk until
// stop is called. It starts to listen after delay.
func startDashboard(s *cli.Settings, kind string, board *dashboard.Board, desk *handover.Desk, delay time.Duration, log *slog.Logger) *dashboardService {
	ctx, cancel := context.WithCancel(context.Background())
	d := &dashboardService{cancel: cancel}
	d.starting.Go(func() {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
		var err error
		if d.server, err = dashboard.Listen(dashboard.Options{DataDir: s.Data, Kind: kind, Version: s.Version, Board: board, Desk: desk, Logger: log}); err != nil {
			log.Warn("the dashboard is not available", "error", err)
		}
	})
	return d
}

// available waits for the start of the dashboard and reports whether it succeeded.
func (d *dashboardService) available() bool {
	d.starting.Wait()
	return d.server != nil
}

// stop ends the dashboard.
func (d *dashboardService) stop() {
	d.cancel()
	d.starting.Wait()
	d.server.Close()
}
