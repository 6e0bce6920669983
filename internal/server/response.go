package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
)

// A failure is the body of an error response.
type failure struct {
	Error struct {
		Code      errs.Code `json:"code"`
		Message   string    `json:"message"`
		Hint      string    `json:"hint,omitempty"`
		Retryable bool      `json:"retryable"`
	} `json:"error"`
}

// text returns the error as one line.
func (f *failure) text() string {
	text := fmt.Sprintf("%s: %s", f.Error.Code, f.Error.Message)
	if f.Error.Hint != "" {
		text += ". " + f.Error.Hint
	}
	return text
}

// statusOf returns the status of the response that reports err.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoWorkspace):
		return http.StatusNotFound
	case errors.Is(err, errStopped):
		return http.StatusServiceUnavailable
	}
	return errclass.Of(errs.CodeOf(err)).Status
}

// retryAfter is the value of Retry-After in a response to a request that exceeds a limit and can be
// repeated, in seconds. A call rarely takes longer.
const retryAfter = "5"

// fail writes an error response.
func fail(w http.ResponseWriter, err error) { failWith(w, statusOf(err), err) }

// failWith writes an error response with a status.
func failWith(w http.ResponseWriter, status int, err error) {
	body := failureOf(err)
	replyError(w, status, body.Error.Retryable, body)
}

// failMCP writes an error response to a request of MCP's streamable HTTP transport: a JSON-RPC
// error.
func failMCP(w http.ResponseWriter, r *http.Request, err error) {
	type jsonError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}
	failed := failureOf(err)
	body, text := failed.Error, failed.text()
	const serverError = -32000 // the first of those that JSON-RPC leaves to servers
	replyError(w, statusOf(err), body.Retryable, struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonError       `json:"error"`
	}{"2.0", requestID(r), jsonError{serverError, text, body}})
}

// maxFailedRequest bounds the part of a request that is read for its id, in bytes.
const maxFailedRequest = 1 << 20

// requestID returns the id of a JSON-RPC request, or null. Clients do not accept an error without
// the id.
func requestID(r *http.Request) json.RawMessage {
	var request struct {
		ID any `json:"id"`
	}
	dec := json.NewDecoder(io.LimitReader(r.Body, maxFailedRequest))
	dec.UseNumber()
	if dec.Decode(&request) == nil {
		switch id := request.ID.(type) {
		case string, json.Number:
			if raw, err := json.Marshal(id); err == nil {
				return raw
			}
		}
	}
	return json.RawMessage("null")
}

func failureOf(err error) failure {
	var body failure
	body.Error.Code, body.Error.Message = errs.CodeOf(err), err.Error()
	if e, ok := errors.AsType[*errs.Error](err); ok {
		body.Error.Message, body.Error.Hint, body.Error.Retryable = e.Message(), hint.Translate(e.Hint), e.Retryable
	}
	return body
}

// replyError writes a JSON response to a request that failed, and may be repeated if retryable is
// set.
func replyError(w http.ResponseWriter, status int, retryable bool, body any) {
	if status == http.StatusTooManyRequests && retryable {
		w.Header().Set("Retry-After", retryAfter)
	}
	reply(w, status, body)
}

// reply writes a JSON response.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
