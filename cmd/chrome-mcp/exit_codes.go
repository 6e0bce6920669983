package main

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// Exit codes. Those from exitBadArgs on are of call and shell: the class of the error of the last
// failed tool.
const (
	exitOK            = 0
	exitFailed        = 1
	exitUsage         = 2
	exitBadArgs       = 3
	exitDenied        = 4
	exitNotFound      = 5
	exitNotActionable = 6
	exitTimeout       = 7
	exitLimit         = 8
	exitNoBrowser     = 9
)

// exitCode returns the exit code for a tool's error.
func exitCode(code executor.Code) int {
	switch code {
	case executor.ErrBadArgs:
		return exitBadArgs
	case executor.ErrPolicyDenied, executor.ErrConsentRequired:
		return exitDenied
	case executor.ErrTabNotFound, executor.ErrStaleTab, executor.ErrTargetGone, executor.ErrSessionEnded, executor.ErrSelectorNotFound, executor.ErrRefExpired:
		return exitNotFound
	case executor.ErrNotActionable, executor.ErrDialogOpen:
		return exitNotActionable
	case executor.ErrTimeout:
		return exitTimeout
	case executor.ErrBackpressure:
		return exitLimit
	case executor.ErrNoBackend, executor.ErrLaunchFailed, executor.ErrExtensionDisconnected:
		return exitNoBrowser
	}
	return exitFailed
}

// A toolFailure is a failure of a tool that was already reported to the user.
type toolFailure struct{ exit int }

func (e *toolFailure) Error() string { return "a tool failed" }

// failureOf returns the failure that a result reports, or nil: of the tool itself, of the first
// failed call of a batch, or of a script.
func failureOf(tool string, res *sdk.CallToolResult) *toolFailure {
	if code, ok := mcp.ErrorCode(res); ok {
		return &toolFailure{exitCode(code)}
	}
	if res.IsError {
		return &toolFailure{exitFailed}
	}
	if tool != "batch" && tool != "run_script" {
		return nil
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return nil
	}
	var inner struct {
		OK      *bool `json:"ok"` // of a script
		Results []struct {
			Error *struct {
				Code executor.Code `json:"code"`
			} `json:"error"`
		} `json:"results"` // of a batch
	}
	if json.Unmarshal(raw, &inner) != nil {
		return nil
	}
	for _, r := range inner.Results {
		if r.Error != nil {
			return &toolFailure{exitCode(r.Error.Code)}
		}
	}
	if inner.OK != nil && !*inner.OK {
		return &toolFailure{exitFailed}
	}
	return nil
}
