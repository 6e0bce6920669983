package client

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// relayMCP forwards MCP messages in both directions between stdin and stdout and a remote server,
// until one of them ends or ctx is done. It returns nil when the host closes stdin or stdout or when ctx
// is done, and ErrTargetGone if the server ends the MCP session.
func relayMCP(ctx context.Context, transport *bearerTransport, to sdk.Transport, stdin io.Reader, stdout io.Writer, log *slog.Logger) error {
	cli.SurviveBrokenPipe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	local, err := mcp.StdioTransport(io.NopCloser(stdin), stdout).Connect(ctx)
	if err != nil {
		return err
	}
	remote, err := to.Connect(ctx)
	if err != nil {
		return err
	}
	defer cli.RunWithTimeout(timing.Current().CloseBrowser, remote.Close)
	r := &mcpRelay{local: local, remote: remote, transport: transport, log: log, ended: make(chan error, 1)}
	go r.receive(ctx)
	go r.send(ctx)
	select {
	case err := <-r.ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// An mcpRelay connects an MCP host and a remote server.
type mcpRelay struct {
	local, remote sdk.Connection
	transport     *bearerTransport
	log           *slog.Logger
	ended         chan error // has the first error, or nil after the end of stdin or stdout
	initialize    atomic.Pointer[pendingCall]
}

// A pendingCall is a call whose response others wait for.
type pendingCall struct {
	id   jsonrpc.ID
	done func()
}

func (r *mcpRelay) end(err error) {
	select {
	case r.ended <- err:
	default:
	}
}

// receive forwards the messages of the server.
func (r *mcpRelay) receive(ctx context.Context) {
	for {
		m, err := r.remote.Read(ctx)
		if err != nil {
			r.end(errGone(err))
			return
		}
		r.transport.observe(m)
		if err := r.local.Write(ctx, m); errors.Is(err, syscall.EPIPE) {
			r.end(nil) // the host has closed the connection
			return
		} else if err != nil {
			r.end(err)
			return
		}
		if response, ok := m.(*jsonrpc.Response); ok {
			if pending := r.initialize.Load(); pending != nil && pending.id == response.ID {
				pending.done()
			}
		}
	}
}

func errGone(err error) error {
	return executor.Errorf(executor.ErrTargetGone, "Restart this program to open it again.", "the server closed the session: %w", err)
}

// send forwards the messages of the host.
func (r *mcpRelay) send(ctx context.Context) {
	for {
		m, err := r.local.Read(ctx)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if m == nil {
			r.end(err)
			return
		}
		if call, ok := m.(*jsonrpc.Request); ok && call.IsCall() {
			if r.call(ctx, call); ctx.Err() != nil {
				return
			}
		} else if err := r.remote.Write(ctx, m); err != nil {
			r.log.Warn("message not sent", "error", asRPCError(err))
		}
	}
}

// call forwards a call, and reports an error if it cannot be sent. It returns when the call is
// sent, so that a message about it, such as its cancellation, does not overtake it. The response
// may come much later. For initialize, call returns after the response: the messages that follow
// need the id of the MCP session and the protocol version.
func (r *mcpRelay) call(ctx context.Context, call *jsonrpc.Request) {
	sent := make(chan struct{})
	done := sync.OnceFunc(func() { close(sent) })
	initialize := call.Method == "initialize"
	if initialize {
		r.initialize.Store(&pendingCall{call.ID, done})
	} else {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { done() }})
	}
	go func() {
		err := r.remote.Write(ctx, call)
		if err != nil || !initialize {
			defer done()
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if err := r.local.Write(ctx, &jsonrpc.Response{ID: call.ID, Error: asRPCError(err)}); err != nil {
			r.end(err)
		}
		if r.transport.gone.Load() {
			r.end(errGone(err))
		}
	}()
	select {
	case <-sent:
	case <-ctx.Done():
	}
}
