package serve

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// A stuckWorkspace is a workspace that does not close before the test ends it.
type stuckWorkspace struct {
	server.Workspace // nil; only the methods below are called
	closing          chan<- struct{}
	end              <-chan struct{}
}

func (s stuckWorkspace) HasState() bool   { return true }
func (s stuckWorkspace) HandedOver() bool { return false }

func (s stuckWorkspace) Close(string) error {
	s.closing <- struct{}{}
	<-s.end
	return nil
}

// TestEndTimeout checks that the commands that end sessions and the server fail when their time is
// over, and name what is left.
func TestEndTimeout(t *testing.T) {
	data, err := os.MkdirTemp("", "end") // short, because of the socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	s := &cli.Settings{Data: data}
	socket, err := server.Listen(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	closing, end, served := make(chan struct{}, 2), make(chan struct{}), make(chan error, 1)
	srv := server.New(server.Options{Open: func(server.OpenRequest) (server.Workspace, error) {
		return stuckWorkspace{closing: closing, end: end}, nil
	}})
	go func() {
		defer socket.Release()
		served <- srv.Serve(context.Background(), socket)
	}()
	client := server.NewClient(server.SocketPath(data))
	defer client.Close()
	for _, name := range []string{"work", "play"} {
		if _, err := client.OpenSession(t.Context(), name, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	// fails runs a command, whose time is over when a session is being closed.
	fails := func(want string, command func(ctx context.Context, out *strings.Builder) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-closing
			cancel()
		}()
		var out strings.Builder
		err := command(ctx, &out)
		if err == nil || !strings.Contains(err.Error(), want) || cli.Fail(io.Discard, err) != cli.ExitFailed || out.String() != "" {
			t.Errorf("%v, printed %q; want %s", err, &out, want)
		}
	}
	fails("still open after 10s: work", func(ctx context.Context, out *strings.Builder) error {
		return closeSessionsUntil(ctx, s, false, []string{"work"}, out)
	})
	fails("the server is still stopping after 10s: process ", func(ctx context.Context, out *strings.Builder) error {
		err := stopServerUntil(ctx, s, out)
		if err != nil && !strings.HasSuffix(err.Error(), ", sessions: play") {
			t.Error(err)
		}
		return err
	})
	close(end)
	if err := <-served; err != nil {
		t.Error(err)
	}
	var out strings.Builder
	if err := stopServer(t.Context(), s, &out); err != nil || out.String() != "not running\n" {
		t.Errorf("%v, printed %q", err, &out)
	}
}

// TestInterruptedCommands checks that a signal ends the commands that wait for a server.
func TestInterruptedCommands(t *testing.T) {
	data, err := os.MkdirTemp("", "end") // short, because of the socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	socket, err := server.Listen(t.Context(), data) // no server answers
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Release()
	signal := errors.New("interrupted")
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(signal)
	s := &cli.Settings{Data: data}
	for _, c := range []struct {
		cmd  *cobra.Command
		args []string
	}{
		{Command(s), []string{"status"}},
		{Command(s), []string{"stop"}},
		{SessionsCommand(s), nil},
		{SessionsCommand(s), []string{"list"}},
		{SessionsCommand(s), []string{"close", "--all"}},
	} {
		c.cmd.SetArgs(append([]string{}, c.args...))
		c.cmd.SetOut(io.Discard)
		c.cmd.SilenceErrors, c.cmd.SilenceUsage = true, true
		if err := c.cmd.ExecuteContext(ctx); !errors.Is(err, signal) {
			t.Errorf("%s %v: error %v", c.cmd.Name(), c.args, err)
		}
	}
}
