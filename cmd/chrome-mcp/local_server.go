package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
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
		Open: func(name string, values server.Settings) (server.Session, error) {
			return openSession(name, s.data, values, log.With("session", name))
		},
	}).Serve(ctx, l)
}

// A serverSession is a session of the server. It implements server.Session.
type serverSession struct {
	*mcp.HTTPSession
	tools    *mcp.Server
	closeAll func() error
	ended    context.Context // done when the session is being closed
	end      context.CancelFunc

	mu      sync.Mutex // held to begin a stream or the end
	streams sync.WaitGroup
}

// ServeStream implements server.Session. Each client has its own MCP session.
func (s *serverSession) ServeStream(stream io.ReadWriteCloser) error {
	s.mu.Lock()
	if s.ended.Err() != nil {
		s.mu.Unlock()
		return stream.Close()
	}
	s.streams.Add(1)
	s.mu.Unlock()
	defer s.streams.Done()
	err := s.tools.Run(s.ended, mcp.LineTransport(stream, stream))
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, stream.Close())
}

// Close implements server.Session.
func (s *serverSession) Close() error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	err := s.HTTPSession.Close()
	s.streams.Wait()
	return errors.Join(err, s.closeAll())
}

// openSession opens a session with the settings of its first client.
func openSession(name, data string, values server.Settings, log *slog.Logger) (server.Session, error) {
	s, err := sessionSettings(name, data, values)
	if err != nil {
		return nil, err
	}
	rules, err := s.validPolicy()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	tools, closeServer, err := openMCP(ctx, s, rules, log)
	if err != nil {
		return nil, err
	}
	h, err := tools.OpenHTTP(ctx)
	if err != nil {
		return nil, errors.Join(err, closeServer())
	}
	one := &serverSession{HTTPSession: h, tools: tools, closeAll: closeServer}
	one.ended, one.end = context.WithCancel(ctx)
	return one, nil
}

// The settings of a client that are not flags.
const (
	proxySetting   = "--proxy"
	noProxySetting = "no_proxy"
)

// forServer returns the settings that a client sends to open a session: the flags and variables
// that its user set. Paths are absolute, because the server has another working directory.
func (s *settings) forServer(flags *pflag.FlagSet) (server.Settings, error) {
	values := server.Settings{}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "data", "session", "connect", "no-server", "json", "structured", "tools", "log-level", "log-file", "proxy":
			return // those of the client, of the server, or the same for all sessions
		}
		set := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			set = list.GetSlice()
		}
		if path := f.Name == "policy" || f.Name == "audit-log" || f.Name == "browser" && strings.ContainsRune(set[0], filepath.Separator); path && err == nil {
			set[0], err = filepath.Abs(set[0])
		}
		values["--"+f.Name] = set
	})
	if s.proxy != "" {
		values[proxySetting] = []string{s.proxy}
	}
	if s.noProxy != "" {
		values[noProxySetting] = []string{s.noProxy}
	}
	return values, err
}

// sessionSettings returns the settings of a session that a client opens with values. Only the
// default session uses the default profile; others have temporary profiles unless they name one.
func sessionSettings(name, data string, values server.Settings) (*settings, error) {
	s, groups := define()
	flags := pflag.NewFlagSet("session", pflag.ContinueOnError)
	for _, g := range groups {
		flags.AddFlagSet(g.flags)
	}
	for flag, set := range values {
		if flag == noProxySetting {
			s.noProxy = strings.Join(set, ",")
			continue
		}
		for _, value := range set {
			if err := flags.Set(strings.TrimPrefix(flag, "--"), value); err != nil {
				return nil, usagef("", "%s: %s", flag, reason(err))
			}
		}
	}
	s.given = flags.Changed
	s.data = data
	if err := s.complete(); err != nil {
		return nil, err
	}
	if name != server.DefaultSession && !s.given("profile") && !s.given("cdp-endpoint") {
		s.isolated = true
	}
	s.tools, s.structured = mcp.Toolsets(), true
	s.closeTimeout = terminalCloseTimeout
	return s, nil
}

// openServerSession returns a client of the server, which it starts if none is running, after
// opening the session that the settings name.
func openServerSession(cmd *cobra.Command, s *settings) (*server.Client, error) {
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
		err = client.OpenSession(ctx, s.session, values)
		if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrBadArgs {
			err = usagef(fmt.Sprintf("Omit it, close the session with `chrome-mcp sessions close %s`, or choose another --session.", s.session), "%s", e.Message())
		}
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// bridgeStdio serves MCP on stdin and stdout with a session of the server.
func bridgeStdio(cmd *cobra.Command, s *settings) error {
	ctx := cmd.Context()
	client, err := openServerSession(cmd, s)
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
	in := &eofNotifier{Reader: cmd.InOrStdin(), ended: func() { stream.CloseWrite() }}
	ended := make(chan struct{}) // stdin
	go func() {
		defer close(ended)
		io.Copy(stream, in)
	}()
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
	log, err := owneronly.OpenAppend(path)
	if err != nil {
		return server.Status{}, fmt.Errorf("%s: %w", path, err)
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return server.Status{}, err
	}
	cmd := exec.Command(program, "serve", "--data", data, "--idle-timeout", startedIdleTimeout.String())
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
	limit := time.NewTimer(startTimeout)
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
			return st, executor.Errorf(executor.ErrLaunchFailed, "The log of the server is "+path+".", "the server did not respond within %v", startTimeout)
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
		_, err = fmt.Fprintf(stdout, "running: version %s, process %d, since %s, %d sessions\n", st.Version, st.PID, st.Started.Format(time.DateTime), st.Sessions)
	}
	return err
}

// stopServer stops the server and waits for its end.
func stopServer(s *settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.data))
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout+terminalCloseTimeout)
	defer cancel()
	switch err := client.Stop(ctx); {
	case errors.Is(err, server.ErrNotRunning):
		_, err = fmt.Fprintln(stdout, "not running")
		return err
	case err != nil:
		return err
	}
	for {
		_, err := client.Status(ctx)
		if errors.Is(err, server.ErrNotRunning) {
			_, err = fmt.Fprintln(stdout, "stopped")
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server is still running: %w", context.Cause(ctx))
		case <-time.After(startPoll):
		}
	}
}

// printSessions prints the open sessions, one per line.
func printSessions(s *settings, stdout io.Writer) error {
	client := server.NewClient(server.SocketPath(s.data))
	defer client.Close()
	sessions, err := client.Sessions(context.Background())
	if errors.Is(err, server.ErrNotRunning) {
		err = nil
	}
	for _, one := range sessions {
		if err == nil {
			_, err = fmt.Fprintf(stdout, "%-20s since %s, last used %s\n", one.Name, one.Started.Format(time.DateTime), one.Used.Format(time.DateTime))
		}
	}
	return err
}

// closeSessions closes the named sessions, or all.
func closeSessions(s *settings, flags *pflag.FlagSet, names []string) error {
	all, err := flags.GetBool("all")
	if err != nil {
		return err
	}
	if all == (len(names) > 0) {
		return usagef("`chrome-mcp sessions list` lists them.", "name the sessions to close, or close --all")
	}
	client := server.NewClient(server.SocketPath(s.data))
	defer client.Close()
	ctx := context.Background()
	if all {
		sessions, err := client.Sessions(ctx)
		if err != nil && !errors.Is(err, server.ErrNotRunning) {
			return err
		}
		for _, one := range sessions {
			names = append(names, one.Name)
		}
	}
	for _, name := range names {
		err := client.CloseSession(ctx, name)
		if errors.Is(err, server.ErrNotRunning) || errors.Is(err, executor.ErrBadArgs) {
			return usagef("`chrome-mcp sessions list` lists them.", "session %q not found", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
