package secretcmd

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// A stdin reports that it is read, and then waits for its value.
type stdin struct {
	reading chan<- struct{}
	io.Reader
}

func (s stdin) Read(b []byte) (int, error) {
	select {
	case s.reading <- struct{}{}:
	default:
	}
	return s.Reader.Read(b)
}

// TestInterruptedSet checks that a signal ends the command that waits for a value, and that a value
// which arrives later is not stored.
func TestInterruptedSet(t *testing.T) {
	s := &cli.Settings{Data: t.TempDir()}
	ctx, interrupt := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	reading := make(chan struct{}, 1)
	signal := errors.New("interrupted")
	returned, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		<-reading
		interrupt(signal)
		select {
		case <-returned:
		case <-time.After(await.HangLimit): // the command waits for the value
		}
		io.WriteString(w, "secret")
		w.Close()
	}()
	cmd := Command(s)
	cmd.SetArgs([]string{"set", "shop.password", "--origin", "https://shop.example"})
	cmd.SetIn(stdin{reading, r})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, signal) {
		t.Errorf("error %v", err)
	}
	close(returned)
	<-written
	if list, err := secrets.Open(s.Data).Fields(); err != nil || len(list) > 0 {
		t.Errorf("stored %v, error %v", list, err)
	}
}
