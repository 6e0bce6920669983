package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

const (
	// maxRemoteError bounds the part of an error response that is read, in bytes.
	maxRemoteError = 1 << 20
	// maxRemoteText bounds the text of a response that has no error of ours, in bytes.
	maxRemoteText = 200
	// remoteErrorCode is the JSON-RPC code of errors that have a code of chrome-mcp. It is the
	// first that JSON-RPC leaves to servers.
	remoteErrorCode = -32000
)

// A remoteError is the error with which a remote server answered a request.
type remoteError struct{ rpc *jsonrpc.Error }

// Error returns the server's message without control characters, which a terminal would interpret.
func (e *remoteError) Error() string { return cli.Printable(e.rpc.Message) }

// code returns the error code of chrome-mcp, or "".
func (e *remoteError) code() executor.Code {
	var data struct{ Code executor.Code }
	_ = json.Unmarshal(e.rpc.Data, &data) // other data has no code
	return data.Code
}

// An errorTransport returns the error of a server that rejects a message, which the SDK's transport
// would replace.
type errorTransport struct{ http.RoundTripper }

func (t errorTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode >= 400 && r.Method == http.MethodPost {
		return nil, readRemoteError(resp)
	}
	return resp, err
}

// readRemoteError returns the error in a response whose status is not a success, and closes its
// body.
func readRemoteError(resp *http.Response) *remoteError {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRemoteError)) // what arrived is the best text there is
	var rpc struct{ Error *jsonrpc.Error }
	if json.Unmarshal(body, &rpc) == nil && rpc.Error != nil && rpc.Error.Code != 0 {
		return &remoteError{rpc.Error}
	}
	if text, data, ok := server.ParseError(body); ok {
		return &remoteError{&jsonrpc.Error{Code: remoteErrorCode, Message: text, Data: data}}
	}
	text := "HTTP " + resp.Status
	if line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n"); line != "" && len(line) <= maxRemoteText && !strings.HasPrefix(line, "<") {
		text += ": " + cli.Printable(line)
	}
	return &remoteError{&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server answered " + text}}
}

// asRPCError returns the JSON-RPC error for a request that could not be sent or was rejected.
func asRPCError(err error) *jsonrpc.Error {
	if remote, ok := errors.AsType[*remoteError](err); ok {
		return remote.rpc
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the server cannot be reached: %v", failed.Err)}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}
