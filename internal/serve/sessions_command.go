package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// SessionsCommand returns the command sessions.
func SessionsCommand(s *cli.Settings) *cobra.Command {
	cmd := s.Command("sessions", "list or close the sessions of call and shell", printSessions)
	var all bool
	closeCommand := &cobra.Command{
		Use:   "close NAME... | --all",
		Short: "close sessions and their browsers",
		RunE: func(cmd *cobra.Command, names []string) error {
			return closeSessions(cmd.Context(), s, all, names, cmd.OutOrStdout())
		},
	}
	closeCommand.Flags().BoolVar(&all, "all", false, "close all sessions")
	cmd.AddCommand(s.Command("list", "list the sessions", printSessions), closeCommand)
	return cmd
}

// limited calls do with a context that ends after limit. If do fails and ctx is done, it returns the cause
// of ctx. If the limit has passed, its error names the limit.
func limited(ctx context.Context, limit time.Duration, do func(ctx context.Context) error) error {
	limitedCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limitedCtx)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the server did not answer within %v", limit)
	}
	return err
}

// printServerStatus prints whether the server is running.
func printServerStatus(ctx context.Context, s *cli.Settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.Data))
	defer client.Close()
	st, err := client.Status(ctx)
	if errors.Is(err, server.ErrNotRunning) {
		_, err = fmt.Fprintln(stdout, "not running; chrome-mcp call and shell start it")
		return err
	}
	if err == nil {
		listen := ""
		if st.URL != "" {
			listen = ", listening on " + st.URL
		}
		_, err = fmt.Fprintf(stdout, "running: version %s, process %d, since %s, sessions of call and shell: %d%s\n",
			st.Version, st.PID, st.Started.Format(time.DateTime), st.Sessions, listen)
	}
	return err
}

// stopServer stops the server, prints what it ended, and returns when its browsers have exited, or
// after Timing.EndSessions.
func stopServer(ctx context.Context, s *cli.Settings, stdout io.Writer) error {
	return limited(ctx, timing.Current().EndSessions, func(ctx context.Context) error { return stopServerUntil(ctx, s, stdout) })
}

// stopServerUntil is stopServer that waits until ctx is done.
func stopServerUntil(ctx context.Context, s *cli.Settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.Data))
	defer client.Close()
	st, err := client.Status(ctx)
	var sessions []server.Info
	if err == nil {
		sessions, err = client.AllSessions(ctx)
	}
	requested := err == nil
	if requested {
		err = client.Stop(ctx)
	}
	result := "stopped"
	if errors.Is(err, server.ErrNotRunning) {
		result, err = "not running", nil
	}
	if err == nil {
		err = client.WaitStopped(ctx, st)
	}
	switch {
	case err != nil && (!requested || ctx.Err() == nil):
		return err
	case err != nil:
		return fmt.Errorf("the server is still stopping after %v: process %d, sessions: %s", timing.Current().EndSessions, st.PID,
			cmp.Or(strings.Join(sessionNames(sessions), ", "), "none"))
	}
	for _, name := range sessionNames(sessions) {
		fmt.Fprintf(stdout, "closed %s\n", name)
	}
	_, err = fmt.Fprintln(stdout, result)
	return err
}

// noSessions is what sessions prints if there are none.
const noSessions = "no open sessions; chrome-mcp call and shell open them"

// sessionNames returns the full names of sessions.
func sessionNames(all []server.Info) (names []string) {
	for _, one := range all {
		names = append(names, one.FullName())
	}
	return names
}

// printSessions prints the open sessions, one per line.
func printSessions(ctx context.Context, s *cli.Settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.Data))
	defer client.Close()
	sessions, err := client.AllSessions(ctx)
	if errors.Is(err, server.ErrNotRunning) {
		err = nil
	}
	if err == nil && len(sessions) == 0 {
		_, err = fmt.Fprintln(stdout, noSessions)
	}
	names := sessionNames(sessions)
	for i, one := range sessions {
		line := fmt.Sprintf("%-20s since %s, last used %s", names[i], one.Started.Format(time.DateTime),
			one.LastUsed.Format(time.DateTime))
		if !one.Ends.IsZero() {
			line += ", ends " + one.Ends.Format(time.DateTime)
		}
		if err == nil {
			_, err = fmt.Fprintln(stdout, line)
		}
	}
	return err
}

// closeSessions closes the named sessions, or all of the operating-system user. It prints which were
// closed, and returns when their browsers have exited, or after Timing.EndSessions.
func closeSessions(ctx context.Context, s *cli.Settings, all bool, names []string, stdout io.Writer) error {
	return limited(ctx, timing.Current().EndSessions, func(ctx context.Context) error {
		return closeSessionsUntil(ctx, s, all, names, stdout)
	})
}

// closeSessionsUntil is closeSessions that waits until ctx is done.
func closeSessionsUntil(ctx context.Context, s *cli.Settings, all bool, names []string, stdout io.Writer) error {
	if all == (len(names) > 0) {
		return cli.Usagef("`chrome-mcp sessions list` lists them.", "name the sessions to close, or close --all")
	}
	client := server.NewClient(server.SocketPath(s.Data))
	defer client.Close()
	if all {
		sessions, err := client.Sessions(ctx)
		if err != nil && !errors.Is(err, server.ErrNotRunning) {
			return err
		}
		if names = sessionNames(sessions); len(names) == 0 {
			_, err := fmt.Fprintln(stdout, noSessions)
			return err
		}
	}
	failed := make([]error, len(names))
	var closing sync.WaitGroup
	for i, name := range names {
		closing.Go(func() { failed[i] = client.CloseSession(ctx, name) })
	}
	closing.Wait()
	var open []string // after the limit
	var errs []error
	for i, name := range names {
		switch err := failed[i]; {
		case err == nil:
			fmt.Fprintf(stdout, "closed %s\n", name)
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			open = append(open, name)
		case errors.Is(err, server.ErrNotRunning) || errors.Is(err, executor.ErrBadArgs):
			errs = append(errs, cli.Usagef("`chrome-mcp sessions list` lists them.", "session %q not found", name))
		default:
			errs = append(errs, fmt.Errorf("session %s: %w", name, err))
		}
	}
	if len(open) > 0 {
		errs = append(errs, fmt.Errorf("still open after %v: %s", timing.Current().EndSessions, strings.Join(open, ", ")))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
