package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// openDelay delays opening the bridge, so that it does not slow down the first responses, which MCP
// hosts wait for.
const openDelay = 50 * time.Millisecond

// ServeStdio serves one MCP session on stdin and stdout until stdin ends or ctx is done. Neither is
// an error. closeTimeout replaces Timing.CloseBrowser if it is not 0.
func ServeStdio(
	ctx context.Context, s *cli.Settings, closeTimeout time.Duration, stdin io.Reader, stdout, stderr io.Writer,
) (err error) {
	cli.SurviveBrokenPipe()
	rules, err := ValidPolicy(s)
	if err != nil {
		return err
	}
	setup := newSetup(s, secrets.Open(s.Data))
	setup.closeTimeout = closeTimeout
	log, closeLog, err := NewLogger(s, setup.vault, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	board, desk := new(dashboard.Board), new(handover.Desk)
	people := StartDashboard(s, kindHost, board, desk, openDelay, log)
	defer people.Stop()
	setup.handover = mcp.HandoverOptions{Questions: desk, Dashboard: people.available}
	setup.watched = board.Open(dashboard.WorkspaceOptions{Stop: cancel})
	mcpServer, _, closeServer, err := openMCP(ctx, setup, rules, log)
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		err = errors.Join(err, closeServer())
	}()

	if cli.IsTerminal(stdin) {
		fmt.Fprintln(stderr,
			"chrome-mcp serves MCP on stdin, started by an MCP host; run chrome-mcp help for usage; press Ctrl-C to stop.\n"+
				"To add it to an MCP host, run chrome-mcp setup HOST --allow-domain example.com; chrome-mcp setup lists the hosts.")
	}
	trimmer := newIdleTrimmer(stdin, stdout)
	defer trimmer.Close()
	in := &cli.EOFNotifier{Reader: trimmer, Ended: func() { time.AfterFunc(timing.Current().Drain, cancel) }}
	ran := make(chan error, 1)
	go func() { ran <- mcpServer.Run(ctx, mcp.StdioTransport(in, trimmer)) }()
	select {
	case err = <-ran:
	case <-ctx.Done():
		select {
		case <-ran:
		case <-time.After(timing.Current().CancelCalls):
			log.Warn("calls did not return before shutdown")
		}
	}
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // shutdown was requested
	}
	return err
}
