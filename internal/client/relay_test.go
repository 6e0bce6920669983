package client

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

const initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// A fakeRemote is the connection of a relay to a server that the test plays.
type fakeRemote struct {
	sdk.Connection
	messages chan jsonrpc.Message // from the server

	mu       sync.Mutex // guards the field below
	requests []*jsonrpc.Request
}

func (r *fakeRemote) Connect(context.Context) (sdk.Connection, error) { return r, nil }

func (r *fakeRemote) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-r.messages:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *fakeRemote) Write(_ context.Context, m jsonrpc.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, m.(*jsonrpc.Request))
	return nil
}

func (r *fakeRemote) Close() error { return nil }

// received waits until the relay is idle, and checks the methods that the server has received.
func (r *fakeRemote) received(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var methods []string
	for _, request := range r.requests {
		methods = append(methods, request.Method)
	}
	if !slices.Equal(methods, want) {
		t.Fatalf("the server received %q, want %q", methods, want)
	}
}

// respond sends the response to the last request.
func (r *fakeRemote) respond(result string) {
	r.mu.Lock()
	id := r.requests[len(r.requests)-1].ID
	r.mu.Unlock()
	r.messages <- &jsonrpc.Response{ID: id, Result: json.RawMessage(result)}
}

// TestRelayWaitsForInitialize checks that the relay sends nothing between initialize and its response.
func TestRelayWaitsForInitialize(t *testing.T) {
	cli.SurviveBrokenPipe() // the first signal.Notify starts a goroutine, which is not of the test
	synctest.Test(t, func(t *testing.T) {
		remote, out := &fakeRemote{messages: make(chan jsonrpc.Message)}, new(testlog.Buffer)
		stdin := strings.NewReader(strings.Join([]string{
			initializeLine,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		}, "\n") + "\n")
		ended := make(chan error, 1)
		go func() {
			ended <- relayMCP(t.Context(), new(bearerTransport), remote, stdin, out, slog.New(slog.DiscardHandler))
		}()
		remote.received(t, "initialize")
		remote.respond(`{"protocolVersion":"2025-06-18"}`)
		remote.received(t, "initialize", "notifications/initialized", "tools/list")
		remote.respond(`{"tools":[]}`)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if text := out.String(); !strings.Contains(text, `"protocolVersion"`) || !strings.Contains(text, `"tools":[]`) {
			t.Errorf("the host received %s", text)
		}
	})
}
