package client

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
	"time"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const (
	// startPoll is the interval at which the start of a server is checked.
	startPoll = 10 * time.Millisecond
	// startedIdleTimeout is the idle timeout of a server that call or shell started.
	startedIdleTimeout = time.Hour
	// maxStartError bounds the part of a server's log that the error of a failed start repeats, in
	// bytes.
	maxStartError = 2000
)

// openServerSession returns a client of the server, which it starts if none is running, after
// opening the session that the settings name. replaced reports that this closed one with other settings.
// With keep, the session does not end when it is idle.
func openServerSession(cmd *cobra.Command, s *cli.Settings, keep bool) (client *server.Client, replaced bool, err error) {
	if isURL(s.Connect) {
		return nil, false, cli.Usagef("Omit it to use a server of this machine.", "--connect URL cannot be combined with a command")
	}
	if err := server.CheckName(s.Session); err != nil {
		return nil, false, s.FlagValueError("session", err)
	}
	if _, err := compose.ValidPolicy(s); err != nil {
		return nil, false, err
	}
	values, err := s.ForServer(cmd.Flags())
	if err != nil {
		return nil, false, err
	}
	ctx := cmd.Context()
	socket := cmp.Or(s.Connect, server.SocketPath(s.Data))
	client = server.NewClient(socket)
	st, err := client.Status(ctx)
	switch {
	case !errors.Is(err, server.ErrNotRunning):
	case socket != server.SocketPath(s.Data): // of another data directory
		err = cli.Usagef("Start it with chrome-mcp serve.", "--connect: no server listens on %s", socket)
	default:
		st, err = startLocalServer(ctx, s.Data, client)
	}
	if err == nil && st.Version != s.Version {
		err = cli.Usagef("Stop it with `chrome-mcp serve stop`, which closes its sessions, and try again.",
			"the running server has version %s, this program %s", st.Version, s.Version)
	}
	if err == nil {
		replaced, err = client.OpenSession(ctx, s.Session, values, keep)
		if e, ok := errors.AsType[*executor.Error](err); ok && e.Code == executor.ErrBadArgs {
			err = cli.Usagef(e.Hint, "%s", e.Message())
		}
	}
	if err != nil {
		client.Close()
		return nil, false, err
	}
	return client, replaced, nil
}

// openPrincipalSession returns a client for the session of the principal whose token is in
// --principal-file. The server determines its settings.
func openPrincipalSession(cmd *cobra.Command, s *cli.Settings) (*server.Client, error) {
	if err := onlyConnectFlags(cmd, s, "--principal-file", "principal-file"); err != nil {
		return nil, err
	}
	token, err := server.ReadToken(s.PrincipalFile)
	if err != nil {
		return nil, s.FlagValueError("principal-file", err)
	}
	client := server.NewClient(s.Connect)
	client.SetToken(token)
	switch _, err := client.Status(cmd.Context()); {
	case errors.Is(err, server.ErrNotRunning):
		return nil, cli.Usagef("Its session has ended.", "--connect: no server listens on %s", s.Connect)
	case err != nil:
		client.Close()
		return nil, err
	}
	return client, nil
}

// connectSocket serves MCP on stdin and stdout with a session of the server.
func connectSocket(cmd *cobra.Command, s *cli.Settings) error {
	ctx := cmd.Context()
	var client *server.Client
	var err error
	if s.PrincipalFile != "" {
		client, err = openPrincipalSession(cmd, s)
	} else {
		client, _, err = openServerSession(cmd, s, false)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	stream, err := client.Stream(ctx, s.Session)
	if err != nil {
		return err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	ended := make(chan struct{}) // stdin
	in := &cli.EOFNotifier{Reader: cmd.InOrStdin(), Ended: func() {
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
	log, err := owneronly.OpenAppend(path) // what is not the log, such as a panic
	if err != nil {
		return server.Status{}, fmt.Errorf("%s: %w", path, err)
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return server.Status{}, err
	}
	cmd := exec.Command(program, "serve", "--data", data, "--idle-timeout", startedIdleTimeout.String(), "--log-file", path, "--config", cli.NoConfig)
	cmd.Stderr = log
	cmd.Dir = filepath.VolumeName(data) + string(filepath.Separator)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, cli.EnvPrefix) || strings.HasSuffix(strings.ToUpper(name), "_PROXY")
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
