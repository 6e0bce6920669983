package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
)

// A failure is the body of an error response.
type failure struct {
	Error struct {
		Code    errs.Code `json:"code"`
		Message string    `json:"message"`
		Hint    string    `json:"hint,omitempty"`
	} `json:"error"`
}

// statusOf maps error codes to HTTP status codes.
func statusOf(code errs.Code) int {
	switch code {
	case errs.ErrBadArgs:
		return http.StatusBadRequest
	case errs.ErrPolicyDenied:
		return http.StatusForbidden
	case errs.ErrBackpressure:
		return http.StatusTooManyRequests
	case errs.ErrTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusUnprocessableEntity
}

// fail writes an error response.
func fail(w http.ResponseWriter, err error) { failWith(w, statusOf(errs.CodeOf(err)), err) }

// failWith writes an error response with a status.
func failWith(w http.ResponseWriter, status int, err error) {
	var body failure
	body.Error.Code, body.Error.Message = errs.CodeOf(err), err.Error()
	if e, ok := errors.AsType[*errs.Error](err); ok {
		body.Error.Message, body.Error.Hint = e.Message(), hint.Translate(e.Hint)
	}
	reply(w, status, body)
}

// reply writes a JSON response.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
