package main

import (
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// Exit codes. call and shell also have those of package errclass: the class of the error of the
// last failed tool.
const (
	exitOK     = 0
	exitFailed = errclass.ExitFailed
	exitUsage  = 2
)

// metaError is the key of the error in the _meta of a result.
const metaError = "chrome-mcp/error"

// metaNote is the key of a note in the _meta of a result.
const metaNote = "chrome-mcp/note"

// A toolFailure is a failure of a tool that was already reported to the user.
type toolFailure struct{ exit int }

func (e *toolFailure) Error() string { return "a tool failed" }

// A classifiedError is an error with an exit code.
type classifiedError struct {
	error
	exit int
}

func (e *classifiedError) Unwrap() error { return e.error }

// withExitCode returns err, an error of call or shell, with the exit code of its error code, such
// as that of a session that cannot be opened.
func withExitCode(err error) error {
	var code executor.Code
	if remote, ok := errors.AsType[*remoteError](err); ok {
		code = remote.code()
	} else if e, ok := errors.AsType[*executor.Error](err); ok {
		code = e.Code
	}
	if _, usage := errors.AsType[*usageError](err); usage || code == "" {
		return err
	}
	return &classifiedError{err, errclass.Of(code).Exit}
}

// failureOf returns the failure that a result reports, or nil: of the tool itself, of the first
// failed call of a batch, or of a script.
func failureOf(tool string, res *sdk.CallToolResult) *toolFailure {
	if code, ok := mcp.ErrorCode(res); ok {
		return &toolFailure{errclass.Of(code).Exit}
	}
	if res.IsError {
		return &toolFailure{exitFailed}
	}
	if tool != "batch" && tool != "run_script" {
		return nil
	}
	var inner struct {
		OK      *bool  `json:"ok"`    // of a script
		Error   string `json:"error"` // of a script; begins with the code of the call that failed, if one did
		Results []struct {
			Error *struct {
				Code executor.Code `json:"code"`
			} `json:"error"`
		} `json:"results"` // of a batch
	}
	if structured(res, &inner) != nil {
		return nil
	}
	for _, r := range inner.Results {
		if r.Error != nil {
			return &toolFailure{errclass.Of(r.Error.Code).Exit}
		}
	}
	if inner.OK != nil && !*inner.OK {
		code, _, _ := strings.Cut(inner.Error, ":")
		return &toolFailure{errclass.Of(executor.Code(code)).Exit}
	}
	return nil
}
