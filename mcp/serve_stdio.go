package mcp

import (
	"context"
	"io"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
)

// ServeStdio serves one session over standard input and output, like [Server.Run]. Other code must
// not write to standard output during the session.
func (s *Server) ServeStdio(ctx context.Context) error {
	return s.Run(ctx, StdioTransport(os.Stdin, os.Stdout))
}

// StdioTransport returns a transport for one session with newline-delimited messages: the stdio
// transport of MCP. Closing it closes r but not w.
//
// The SDK's stdio transport ends the session at the first invalid line, which closes all tabs of
// the agent. StdioTransport replies with the JSON-RPC error and continues: -32700 for a line that
// is not JSON or longer than 10 MiB, -32600 for JSON that is not a message, such as a batch, which
// MCP removed in version 2025-06-18. It ignores blank lines. When r ends, it waits up to
// 0.7 s for the replies to running calls.
func StdioTransport(r io.ReadCloser, w io.Writer) sdk.Transport { return mcptransport.NewStdio(r, w) }
