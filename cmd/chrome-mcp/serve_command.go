package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

const (
	// startTimeout is the time that a server has to start.
	startTimeout = 10 * time.Second
	// startPoll is the interval at which the start or the end of a server is checked.
	startPoll = 10 * time.Millisecond
	// startedIdleTimeout is the idle timeout of a server that call or shell started.
	startedIdleTimeout = time.Hour
	// defaultSessionIdle is the default of --session-idle. An agent may think, or wait for its user,
	// for minutes.
	defaultSessionIdle = 15 * time.Minute
	// maxStartError bounds the part of a server's log that the error of a failed start repeats, in
	// bytes.
	maxStartError = 2000
)

func serveCommand(s *settings) *cobra.Command {
	var lives lifetimes
	var listen listenFlags
	cmd := &cobra.Command{
		Use:   "serve [--idle-timeout DURATION] [--listen ADDRESS]",
		Short: "run the server that keeps the sessions of call and shell",
		Long: `Runs the server that keeps the sessions of call and shell, until a signal or
serve stop ends it. call and shell start it when none is running, with an idle timeout of
one hour. It listens on a socket in the data directory that only you can use. The
settings of a session come from the call that opens it.

With --listen it also serves MCP over HTTP, at /mcp, to clients with a token. Their
sessions have the flags of serve, or those of their token in --token-file.`,
		Args: s.maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveSessions(cmd.Context(), s, lives, &listen, cmd.Flags(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().DurationVar(&lives.server, "idle-timeout", 0, "with serve: end the server after this time without requests, such as 1h; 0 means never")
	cmd.Flags().DurationVar(&lives.idle, "session-idle", defaultSessionIdle, "with serve: close sessions without requests after this time, except those of call and shell; 0 means never")
	cmd.Flags().DurationVar(&lives.ttl, "session-ttl", 0, "with serve: close a session after this time, also while it is in use, such as 8h; 0 means never")
	listen.define(cmd.Flags())
	cmd.AddCommand(
		s.command("status", "print whether the server is running", printServerStatus),
		s.command("stop", "stop the server and close its sessions", stopServer),
	)
	return cmd
}

// lifetimes are the flags of serve that limit how long the server and its sessions live.
type lifetimes struct {
	server time.Duration // --idle-timeout
	idle   time.Duration // --session-idle
	ttl    time.Duration // --session-ttl
}

// check returns an error if a limit is negative.
func (l *lifetimes) check() error {
	for flag, value := range map[string]time.Duration{"idle-timeout": l.server, "session-idle": l.idle, "session-ttl": l.ttl} {
		if value < 0 {
			return usagef("", "--%s must not be negative", flag)
		}
	}
	return nil
}

func sessionsCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "list or close the sessions of call and shell",
		Args:  s.maxArgs(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return printSessions(s, cmd.OutOrStdout()) },
	}
	closeCommand := &cobra.Command{
		Use:   "close NAME... | --all",
		Short: "close sessions and their browsers",
		RunE:  func(cmd *cobra.Command, names []string) error { return closeSessions(s, cmd.Flags(), names) },
	}
	closeCommand.Flags().Bool("all", false, "close all sessions")
	cmd.AddCommand(s.command("list", "list the sessions", printSessions), closeCommand)
	return cmd
}

// serverFlags are the flags that always have an effect on serve. Those of a session come from the
// clients that open it, or from serve for clients over HTTP without a token file.
var serverFlags = []string{"data", "idle-timeout", "session-idle", "session-ttl", "log-level", "log-file"}

// checkServeFlags checks that the flags of serve have an effect.
func checkServeFlags(s *settings, listen *listenFlags, flags *pflag.FlagSet) error {
	allowed := slices.Concat(serverFlags, listenFlagNames, []string{"listen"})
	hint := "Pass it to call or shell; it applies to the session that they open."
	switch {
	case listen.tokenFile != "":
		hint = "Write it to the settings of a token."
	case listen.address != "":
		allowed = append(allowed, sessionFlags()...)
	}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && s.sources[f.Name] == "" && !slices.Contains(allowed, f.Name) {
			err = usagef(hint, "--%s has no effect on serve", f.Name)
		}
	})
	return cmp.Or(err, listen.check(flags))
}

// serveSessions runs the server until ctx is done, a client stops it, or it was idle for
// lives.server.
func serveSessions(ctx context.Context, s *settings, lives lifetimes, listen *listenFlags, flags *pflag.FlagSet, stderr io.Writer) error {
	if err := checkServeFlags(s, listen, flags); err != nil {
		return err
	}
	if err := lives.check(); err != nil {
		return err
	}
	log, closeLog, err := newLogger(s, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	front, l, err := openListeners(s, listen, flags, log)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "chrome-mcp serves sessions on "+server.SocketPath(s.data)+"; chrome-mcp serve stop ends it.")
	front.print(stderr, s.data)
	pool := &chromium.Pool{Logger: log}
	opener := &sessionOpener{s.data, pool, newProfileUsers(), front, log}
	err = server.New(server.Options{
		Version:     programVersion(),
		IdleTimeout: lives.server,
		SessionIdle: lives.idle,
		SessionTTL:  lives.ttl,
		Logger:      log,
		HTTP:        front.front(),
		Tools:       func() any { return mcp.Tools() },
		OpenAPI:     sync.OnceValue(func() any { return mcp.OpenAPI(programVersion()) }),
		Open:        opener.open,
	}).Serve(ctx, l)
	return errors.Join(err, pool.Close())
}

// openListeners opens the Unix socket and, with --listen, the HTTP listener and its token. After an
// error, neither is open.
func openListeners(s *settings, listen *listenFlags, flags *pflag.FlagSet, log *slog.Logger) (*httpFront, net.Listener, error) {
	if listen.address == "" {
		l, err := server.Listen(s.data)
		return nil, l, err
	}
	opts, err := listen.options(log)
	if err != nil {
		return nil, nil, err
	}
	tokens, own, err := listen.credentials(s, flags)
	if err != nil {
		return nil, nil, err
	}
	l, err := server.Listen(s.data)
	if err != nil {
		return nil, nil, err
	}
	front, err := listen.open(s, tokens, own, opts)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return front, l, nil
}
