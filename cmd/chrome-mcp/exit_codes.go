package main

import (
	"encoding/json"
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

// A toolFailure is a failure of a tool that was already reported to the user.
type toolFailure struct{ exit int }

func (e *toolFailure) Error() string { return "a tool failed" }

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
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
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
	if json.Unmarshal(raw, &inner) != nil {
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
