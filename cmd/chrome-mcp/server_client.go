package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/spf13/cobra"
)

// openServerSession returns a client of the server, which it starts if none is running, after
// opening the session that the settings name. With keep, the session does not end when it is idle.
func openServerSession(cmd *cobra.Command, s *settings, keep bool) (*server.Client, error) {
	if isURL(s.connect) {
		return nil, usagef("Omit it to use a server of this machine.", "--connect URL cannot be combined with a command")
	}
	if err := server.CheckName(s.session); err != nil {
		return nil, s.flagValueError("session", err)
	}
	if _, err := s.validPolicy(); err != nil {
		return nil, err
	}
	values, err := s.forServer(cmd.Flags())
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	socket := cmp.Or(s.connect, server.SocketPath(s.data))
	client := server.NewClient(socket)
	st, err := client.Status(ctx)
	switch {
	case !errors.Is(err, server.ErrNotRunning):
	case socket != server.SocketPath(s.data): // of another data directory
		err = usagef("Start it with chrome-mcp serve.", "--connect: no server listens on %s", socket)
	default:
		st, err = startLocalServer(ctx, s.data, client)
	}
	if err == nil && st.Version != programVersion() {
		err = usagef("Stop it with `chrome-mcp serve stop`, which closes its sessions, and try again.",
			"the running server has version %s, this program %s", st.Version, programVersion())
	}
	if err == nil {
		s.replacedSession, err = client.OpenSession(ctx, s.session, values, keep)
		if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrBadArgs {
			err = usagef(e.Hint, "%s", e.Message())
		}
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// openPrincipalSession returns a client for the session of the principal whose token is in
// --principal-file. The server determines its settings.
func openPrincipalSession(cmd *cobra.Command, s *settings, _ bool) (*server.Client, error) {
	if err := onlyConnectFlags(cmd, s, "--principal-file", "principal-file"); err != nil {
		return nil, err
	}
	token, err := server.ReadToken(s.principalFile)
	if err != nil {
		return nil, s.flagValueError("principal-file", err)
	}
	client := server.NewClient(s.connect)
	client.SetToken(token)
	switch _, err := client.Status(cmd.Context()); {
	case errors.Is(err, server.ErrNotRunning):
		return nil, usagef("Its session has ended.", "--connect: no server listens on %s", s.connect)
	case err != nil:
		client.Close()
		return nil, err
	}
	return client, nil
}

// connectSocket serves MCP on stdin and stdout with a session of the server.
func connectSocket(cmd *cobra.Command, s *settings) error {
	ctx := cmd.Context()
	open := openServerSession
	if s.principalFile != "" {
		open = openPrincipalSession
	}
	client, err := open(cmd, s, false)
	if err != nil {
		return err
	}
	defer client.Close()
	stream, err := client.Stream(ctx, s.session)
	if err != nil {
		return err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	ended := make(chan struct{}) // stdin
	in := &eofNotifier{Reader: cmd.InOrStdin(), ended: func() {
		close(ended) // first: the server then closes the stream
		stream.CloseWrite()
	}}
	go io.Copy(stream, in)
	_, err = io.Copy(cmd.OutOrStdout(), stream)
	select {
	case <-ended: // the end of stdin ended the stream
		return err
	case <-ctx.Done():
		return nil
	default:
		return errors.Join(err, executor.Errorf(executor.ErrTargetGone, "Restart this program to open it again.", "the server closed the session"))
	}
}

// startLocalServer starts a server on a data directory and waits until it responds. The server gets
// neither the flags nor the variables of this program: each client sends its settings.
func startLocalServer(ctx context.Context, data string, client *server.Client) (server.Status, error) {
	program, err := os.Executable()
	if err == nil {
		err = owneronly.MakePrivateDir(filepath.Dir(server.SocketPath(data)))
	}
	if err != nil {
		return server.Status{}, err
	}
	path := filepath.Join(filepath.Dir(server.SocketPath(data)), "log")
	log, err := openLog(path)
	if err != nil {
		return server.Status{}, fmt.Errorf("%s: %w", path, err)
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return server.Status{}, err
	}
	cmd := exec.Command(program, "serve", "--data", data, "--idle-timeout", startedIdleTimeout.String(), "--config", noConfig)
	cmd.Stderr = log
	cmd.Dir = filepath.VolumeName(data) + string(filepath.Separator)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, envPrefix) || strings.HasSuffix(strings.ToUpper(name), "_PROXY")
	})
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return server.Status{}, fmt.Errorf("start the server: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	wait := timing.Current().StartServer + server.StopTimeout
	limit := time.NewTimer(wait) // it waits for one that is stopping
	defer limit.Stop()
	for ended := false; ; {
		st, err := client.Status(ctx)
		if !errors.Is(err, server.ErrNotRunning) {
			return st, err
		}
		if ended { // and no other program started one at the same time
			return st, executor.Errorf(executor.ErrLaunchFailed, "The log of the server is "+path+".", "the server did not start: %s", tail(path, before))
		}
		select {
		case <-exited:
			ended = true
		case <-time.After(startPoll):
		case <-limit.C:
			return st, executor.Errorf(executor.ErrLaunchFailed, "The log of the server is "+path+".", "the server did not respond within %v", wait)
		case <-ctx.Done():
			return st, context.Cause(ctx)
		}
	}
}

// tail returns the end of a file, from the given offset at the earliest, as one line.
func tail(path string, from int64) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	data = data[min(from, int64(len(data))):]
	data = data[max(0, len(data)-maxStartError):]
	return strings.Join(strings.Fields(string(data)), " ")
}

// printServerStatus prints whether the server is running.
func printServerStatus(s *settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.data))
	defer client.Close()
	st, err := client.Status(context.Background())
	if errors.Is(err, server.ErrNotRunning) {
		_, err = fmt.Fprintln(stdout, "not running; chrome-mcp call and shell start it")
		return err
	}
	if err == nil {
		listen := ""
		if st.URL != "" {
			listen = ", listening on " + st.URL
		}
		_, err = fmt.Fprintf(stdout, "running: version %s, process %d, since %s, sessions of call and shell: %d%s\n", st.Version, st.PID, st.Started.Format(time.DateTime), st.Sessions, listen)
	}
	return err
}

// stopServer stops the server, prints what it ended, and returns when its browsers have exited.
func stopServer(s *settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.data))
	defer client.Close()
	limit := timing.Current().EndSessions
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	st, err := client.Status(ctx)
	var sessions []server.Info
	if err == nil {
		sessions, err = client.AllSessions(ctx)
	}
	if err == nil {
		err = client.Stop(ctx)
	}
	result := "stopped"
	if errors.Is(err, server.ErrNotRunning) {
		result, err = "not running", nil
	}
	if err != nil {
		return err
	}
	if err := client.WaitStopped(ctx, st); err != nil {
		return fmt.Errorf("the server is still stopping after %v: process %d, sessions: %s", limit, st.PID, cmp.Or(strings.Join(sessionNames(sessions), ", "), "none"))
	}
	for _, name := range sessionNames(sessions) {
		fmt.Fprintf(stdout, "closed %s\n", name)
	}
	_, err = fmt.Fprintln(stdout, result)
	return err
}

// noSessions is what sessions prints if there are none.
const noSessions = "no open sessions; chrome-mcp call and shell open them"

// sessionNames returns the names of sessions; those of tokens are SESSION@TOKEN.
func sessionNames(all []server.Info) (names []string) {
	for _, one := range all {
		name := one.Name
		if one.Principal != "" {
			name += "@" + one.Principal
		}
		names = append(names, name)
	}
	return names
}

// printSessions prints the open sessions, one per line.
func printSessions(s *settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.data))
	defer client.Close()
	sessions, err := client.AllSessions(context.Background())
	if errors.Is(err, server.ErrNotRunning) {
		err = nil
	}
	if err == nil && len(sessions) == 0 {
		_, err = fmt.Fprintln(stdout, noSessions)
	}
	names := sessionNames(sessions)
	for i, one := range sessions {
		line := fmt.Sprintf("%-20s since %s, last used %s", names[i], one.Started.Format(time.DateTime), one.Used.Format(time.DateTime))
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
// closed, and returns when their browsers have exited.
func closeSessions(s *settings, all bool, names []string, stdout io.Writer) error {
	if all == (len(names) > 0) {
		return usagef("`chrome-mcp sessions list` lists them.", "name the sessions to close, or close --all")
	}
	client := server.NewClient(server.SocketPath(s.data))
	defer client.Close()
	limit := timing.Current().EndSessions
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
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
		case errors.Is(err, context.DeadlineExceeded):
			open = append(open, name)
		case errors.Is(err, server.ErrNotRunning) || errors.Is(err, executor.ErrBadArgs):
			errs = append(errs, usagef("`chrome-mcp sessions list` lists them.", "session %q not found", name))
		default:
			errs = append(errs, fmt.Errorf("session %s: %w", name, err))
		}
	}
	if len(open) > 0 {
		errs = append(errs, fmt.Errorf("still open after %v: %s", limit, strings.Join(open, ", ")))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
