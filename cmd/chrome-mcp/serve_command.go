package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	// maxStartError bounds the part of a server's log that the error of a failed start repeats, in
	// bytes.
	maxStartError = 2000
)

func serveCommand(s *settings) *cobra.Command {
	var idle time.Duration
	cmd := &cobra.Command{
		Use:   "serve [--idle-timeout DURATION]",
		Short: "run the server that keeps the sessions of call and shell",
		Long: `Runs the server that keeps the sessions of call and shell, until a signal or
serve stop ends it. call and shell start it when none is running, with an idle timeout of
one hour. It listens on a socket in the data directory that only you can use. The
settings of a session come from the call that opens it.`,
		Args: s.maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveSessions(cmd.Context(), s, idle, cmd.Flags(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().DurationVar(&idle, "idle-timeout", 0, "with serve: end the server after this time without calls, such as 1h; 0 means never")
	cmd.AddCommand(
		s.command("status", "print whether the server is running", printServerStatus),
		s.command("stop", "stop the server and close its sessions", stopServer),
	)
	return cmd
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

// serverFlags are the flags that have an effect on serve. Those of a session come from the clients
// that open it.
var serverFlags = []string{"data", "idle-timeout", "log-level", "log-file"}

// serveSessions runs the server until ctx is done, a client stops it, or it was idle for the given
// time.
func serveSessions(ctx context.Context, s *settings, idle time.Duration, flags *pflag.FlagSet, stderr io.Writer) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && s.sources[f.Name] == "" && !slices.Contains(serverFlags, f.Name) {
			err = usagef("Pass it to call or shell; it applies to the session that they open.", "--%s has no effect on serve", f.Name)
		}
	})
	if err != nil {
		return err
	}
	if idle < 0 {
		return usagef("", "--idle-timeout must not be negative")
	}
	log, closeLog, err := newLogger(s, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	l, err := server.Listen(s.data)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "chrome-mcp serves sessions on "+server.SocketPath(s.data)+"; chrome-mcp serve stop ends it.")
	return server.New(server.Options{
		Version:     programVersion(),
		IdleTimeout: idle,
		Logger:      log,
		Tools:       func() any { return mcp.Tools() },
		OpenAPI:     sync.OnceValue(func() any { return mcp.OpenAPI(programVersion()) }),
		Open: func(name string, values server.Settings) (server.Session, error) {
			return openSession(name, s.data, values, log.With("session", name))
		},
	}).Serve(ctx, l)
}
