// Package serve runs the server that keeps the sessions of call and shell, and of clients over HTTP.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/handover"
	"github.com/chrome-mcp/chrome-mcp/internal/profilelease"
	"github.com/chrome-mcp/chrome-mcp/internal/rest"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// defaultSessionIdle is the default of --session-idle. An agent may think, or wait for its user, for
// minutes.
const defaultSessionIdle = 15 * time.Minute

// Command returns the command serve.
func Command(s *cli.Settings) *cobra.Command {
	var opts server.Options // with the lifetimes of the server and its sessions
	var listen listenFlags
	cmd := &cobra.Command{
		Use:   "serve [--idle-timeout DURATION] [--listen ADDRESS]",
		Short: "run the server that keeps the sessions of call and shell",
		Long: `Runs the server that keeps the sessions of call and shell, until a signal or
serve stop stops it. call and shell start it when none is running, with an idle timeout of
one hour. It listens on a socket in the data directory that only you can use. The
settings of a session come from the call that opens it.

With --listen it also serves MCP over HTTP, at /mcp, to clients with a token. Their
sessions have the flags of serve, or those of their token in --token-file.`,
		Args: s.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveSessions(cmd.Context(), s, opts, &listen, cmd.Flags(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().DurationVar(&opts.IdleTimeout, "idle-timeout", 0,
		"with serve: stop after this time without requests, such as 1h; 0 means never")
	cmd.Flags().DurationVar(&opts.SessionIdle, "session-idle", defaultSessionIdle,
		"with serve: close sessions without requests after this time, except those of call and shell; 0 means never")
	cmd.Flags().DurationVar(&opts.SessionTTL, "session-ttl", 0,
		"with serve: close a session after this time, also while it is in use, such as 8h; 0 means never")
	cmd.Flags().Var(cli.NewNumber(&s.MaxBrowsers, chromium.DefaultMaxBrowsers), "max-browsers",
		"with serve: maximum number of shared browsers; tokens share none")
	listen.define(cmd.Flags())
	cmd.AddCommand(
		s.Command("status", "print whether the server is running", printServerStatus),
		s.Command("stop", "stop the server and close its sessions", stopServer),
	)
	return cmd
}

// serverFlags are the flags that always have an effect on serve. Those of a session come from the
// clients that open it, or from serve for clients over HTTP without a token file.
var serverFlags = []string{
	"data", "idle-timeout", "session-idle", "session-ttl", "max-browsers", "egress-address", "log-level",
	"log-file", "config",
}

// checkServeFlags checks that the flags of serve have an effect.
func checkServeFlags(s *cli.Settings, listen *listenFlags, flags *pflag.FlagSet) error {
	allowed := slices.Concat(serverFlags, listenFlagNames, []string{"listen"})
	hint := "Pass it to call or shell; it applies to the session that they open."
	switch {
	case listen.tokenFile != "":
		hint = "Write it to the settings of a token."
	case listen.address != "":
		allowed = append(allowed, cli.SessionFlags()...)
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && s.OnCommandLine(f.Name) && !slices.Contains(allowed, f.Name) {
			if f.Name == "cdp-listen" || f.Name == "cdp-clients" && listen.tokenFile == "" {
				hint = "Set --listen and --cdp-clients; CDP clients then use the address of --listen."
			}
			if f.Name == "idle-browser" {
				hint = "Use --session-idle, which closes sessions with their browsers."
			}
			err = cli.Usagef(hint, "--%s has no effect on serve", f.Name)
		}
	})
	return cmp.Or(err, listen.check(flags))
}

// serveSessions runs the server until ctx is done, a client stops it, or it was idle for
// opts.IdleTimeout. opts has only the lifetimes.
func serveSessions(
	ctx context.Context, s *cli.Settings, opts server.Options, listen *listenFlags, flags *pflag.FlagSet, stderr io.Writer,
) error {
	if err := checkServeFlags(s, listen, flags); err != nil {
		return err
	}
	for flag, value := range map[string]time.Duration{"idle-timeout": opts.IdleTimeout, "session-idle": opts.SessionIdle, "session-ttl": opts.SessionTTL} {
		if value < 0 {
			return cli.Usagef("", "--%s must not be negative", flag)
		}
	}
	vault := secrets.Open(s.Data)
	log, closeLog, err := compose.NewLogger(s, vault, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	listener, l, err := openListeners(ctx, s, listen, flags, log)
	if err != nil {
		return err
	}
	defer l.Release() // last, when the browsers have exited
	fmt.Fprintf(stderr, "chrome-mcp listens on %s; `chrome-mcp serve stop` stops it.\n", server.SocketPath(s.Data))
	listener.print(stderr, s.Data)
	pool := &chromium.Pool{Logger: log, MaxBrowsers: s.MaxBrowsers}
	opener := &compose.Opener{
		Data:     s.Data,
		Version:  s.Version,
		Pool:     pool,
		Egress:   s.RemoteEgress,
		Vault:    vault,
		Profiles: profilelease.New(),
		Audits:   compose.NewAuditLogs(log),
		Board:    new(dashboard.Board),
		Desk:     new(handover.Desk),
		Log:      log,
	}
	if listener != nil {
		opener.OwnHosts, opener.Count, opts.HTTP = listener.hosts, listener.metrics.Recorder, listener.HTTPListener
		opener.Private = listen.private
	}
	opts.Version = s.Version
	opts.Logger = log
	opts.Tools = func() any { return mcp.Tools() }
	opts.OpenAPI = sync.OnceValue(func() any { return rest.OpenAPI(s.Version) })
	opts.Open = opener.Open
	opts.CheckSettings = compose.CheckSettings
	opener.Dashboard = compose.StartDashboard(s, compose.KindServer, opener.Board, opener.Desk, 0, log)
	err = server.New(opts).Serve(ctx, l)
	opener.Dashboard.Stop()
	opener.Audits.Close()
	return errors.Join(err, cli.RunWithTimeout(timing.Current().ClosePool, pool.Close))
}

// listenSocket listens on the Unix socket of the data directory.
func listenSocket(ctx context.Context, s *cli.Settings) (*server.Socket, error) {
	l, err := server.Listen(ctx, s.Data)
	if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrBackpressure {
		e.Hint = "Stop it with `chrome-mcp serve stop`, which closes its sessions, or use another --data. call and shell start one if none is running."
	}
	return l, err
}

// openListeners opens the Unix socket and, with --listen, the HTTP listener and its token. After an
// error, neither is open.
func openListeners(
	ctx context.Context, s *cli.Settings, listen *listenFlags, flags *pflag.FlagSet, log *slog.Logger,
) (*httpListener, *server.Socket, error) {
	if listen.address == "" {
		l, err := listenSocket(ctx, s)
		return nil, l, err
	}
	opts, err := listen.options(log)
	if err != nil {
		return nil, nil, err
	}
	tokens, own, err := listen.credentials(s, flags, log)
	if err != nil {
		return nil, nil, err
	}
	l, err := listenSocket(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	listener, err := listen.open(s, tokens, own, opts)
	if err != nil {
		l.Release()
		return nil, nil, err
	}
	return listener, l, nil
}
