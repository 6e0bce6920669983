package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
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

// errNotFound is the cause of an error about a session that is not open.
var errNotFound = errors.New("not found")

// statusOf returns the status of the response that reports err.
func statusOf(err error) int {
	if errors.Is(err, errNotFound) {
		return http.StatusNotFound
	}
	return errclass.Of(errs.CodeOf(err)).Status
}

// fail writes an error response.
func fail(w http.ResponseWriter, err error) {
	var body failure
	body.Error.Code, body.Error.Message = errs.CodeOf(err), err.Error()
	if e, ok := errors.AsType[*errs.Error](err); ok {
		body.Error.Message, body.Error.Hint, body.Error.Retryable = e.Message(), e.Hint, e.Retryable
	}
	status := statusOf(err)
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	reply(w, status, body)
}

// reply writes a JSON response.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
