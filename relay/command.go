package relay

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
)

// A command is a command of a client, or of the relay, that has no reply yet.
type command struct {
	id        int64       // as the client wrote it; 0 for a command of the relay
	session   *cdpSession // nil for a command of the relay
	sessionID string      // for the browser
	method    string
	params    json.RawMessage // an object, or nil

	localResult json.RawMessage                       // if a check sets it, the client gets it, and the browser no command
	filter      func(json.RawMessage) json.RawMessage // if a check sets it, it changes the result for the client
	failed      func()                                // if a check sets it, it is called if the command has no result
	reply       chan executor.CDPMessage              // of a command of the relay
}

// rewrite calls f with the parameters, which f may change. If f returns nil, the browser gets the
// parameters as f left them: if one occurs twice, Go and Chromium could disagree about which one
// counts.
func (cmd *command) rewrite(f func(params map[string]any) error) error {
	m := object(cmd.params)
	if m == nil {
		m = map[string]any{}
	}
	if err := f(m); err != nil {
		return err
	}
	cmd.params = encode(m)
	return nil
}

// value returns the JSON value of a parameter, or nil. A parameter that occurs twice is an error.
func (cmd *command) value(name string) (json.RawMessage, error) { return param(cmd.params, name) }

// text returns a parameter that must be a string, or "" if it is missing.
func (cmd *command) text(name string) (string, error) { return textParam(cmd.params, name) }

// param returns the JSON value of a parameter of a command or an event, or nil. A parameter that
// occurs twice is an error.
func param(params json.RawMessage, name string) (json.RawMessage, error) {
	var found json.RawMessage
	count := 0
	members(params, func(key, value []byte) bool {
		if string(key) == name {
			found = value
			count++
		}
		return true
	})
	if count > 1 {
		return nil, invalidParams("parameter %q occurs twice", name)
	}
	return found, nil
}

// textParam returns a parameter that must be a string, or "" if it is missing.
func textParam(params json.RawMessage, name string) (string, error) {
	raw, err := param(params, name)
	if raw == nil || err != nil {
		return "", err
	}
	s, ok := text(raw)
	if !ok {
		return "", invalidParams("parameter %q is not a string", name)
	}
	return s, nil
}

// A protocolError is an error that a client receives unchanged.
type protocolError struct{ executor.CDPError }

func (e *protocolError) Error() string { return e.Message }

// invalidParams returns an error about the parameters of a command.
func invalidParams(format string, args ...any) error {
	return chromiumError(codeInvalidParams, "Invalid parameters: "+fmt.Sprintf(format, args...))
}

// chromiumError returns an error with a code and a message of Chromium.
func chromiumError(code int, message string) error {
	return &protocolError{executor.CDPError{Code: code, Message: message}}
}

// denied returns an error that denies a command.
func denied(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrPolicyDenied, hint, format, args...)
}

// cdpError returns err as the error of a command.
func cdpError(method string, err error) *executor.CDPError {
	if e, ok := errors.AsType[*protocolError](err); ok {
		return &e.CDPError
	}
	switch {
	case errors.Is(err, executor.ErrPolicyDenied):
		return &executor.CDPError{Code: codeServer, Message: fmt.Sprintf("'%s' was denied: %s", method, reason(err))}
	case errors.Is(err, executor.ErrBadArgs):
		return &executor.CDPError{Code: codeInvalidParams, Message: "Invalid parameters: " + reason(err)}
	}
	return &executor.CDPError{Code: codeServer, Message: fmt.Sprintf("'%s' failed: %s", method, reason(err))}
}

// reason returns the message and the hint of err in one line, for users of the program.
func reason(err error) string {
	if e, ok := errors.AsType[*executor.Error](err); ok {
		if e.Hint != "" {
			return e.Message() + ". " + hint.Translate(e.Hint)
		}
		return e.Message()
	}
	return err.Error()
}
