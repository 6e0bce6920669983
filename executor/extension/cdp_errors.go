package extension

import (
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// cdpError returns err as the error of a command of a client.
func cdpError(err error) *executor.CDPError {
	e, ok := errors.AsType[*executor.Error](err)
	if !ok {
		return serverError("%s", err)
	}
	var problem *bridge.CommandError
	switch {
	case errors.Is(err, executor.ErrCDP) && errors.As(err, &problem):
		own := browserError(problem)
		return &executor.CDPError{Code: int(own.Code), Message: own.Message}
	case errors.Is(err, executor.ErrBadArgs):
		invalid := invalidParams(e.Message())
		invalid.Data = e.Hint
		return invalid
	}
	return &executor.CDPError{Code: executor.CDPServerError, Message: e.Message(), Data: e.Hint}
}

// serverError returns an error without a more specific code.
func serverError(format string, args ...any) *executor.CDPError {
	return &executor.CDPError{Code: executor.CDPServerError, Message: fmt.Sprintf(format, args...)}
}

// invalidParams returns an error about the parameters of a command. reason may be empty.
func invalidParams(reason string) *executor.CDPError {
	e := &executor.CDPError{Code: executor.CDPInvalidParams, Message: "Invalid parameters"}
	if reason != "" {
		e.Message += ": " + reason
	}
	return e
}

// unavailable returns the error of a command that clients cannot use.
func unavailable(method, reason string) *executor.CDPError {
	return &executor.CDPError{
		Code:    executor.CDPUnknownMethod,
		Message: fmt.Sprintf("'%s' is not available in the user's Chrome: %s", method, reason),
	}
}

// Errors of Chromium, with its messages.
var (
	errNoTarget  = &executor.CDPError{Code: executor.CDPInvalidParams, Message: "No target with given id found"}
	errNoChild   = &executor.CDPError{Code: executor.CDPInvalidParams, Message: "No session with given id"} // the sender has not attached it
	errNoSession = &executor.CDPError{Code: executor.CDPNoSession, Message: "Session with given id not found."}
	errNotPaused = &executor.CDPError{Code: executor.CDPInvalidParams, Message: "Invalid InterceptionId."}
	errNoContext = &executor.CDPError{Code: executor.CDPServerError, Message: "Cannot find context with specified id"}
)

func unknownMethodError(method string) *executor.CDPError {
	return &executor.CDPError{Code: executor.CDPUnknownMethod, Message: "'" + method + "' wasn't found"}
}
