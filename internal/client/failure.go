package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// WithExitCode returns err, an error of call or shell, with the exit code of its error code, such
// as that of a session that cannot be opened.
func WithExitCode(err error) error {
	var code executor.Code
	if remote, ok := errors.AsType[*remoteError](err); ok {
		code = remote.code()
	} else if e, ok := errors.AsType[*executor.Error](err); ok {
		code = e.Code
	}
	if _, usage := errors.AsType[*cli.UsageError](err); usage || code == "" {
		return err
	}
	return cli.WithExit(err, errclass.Of(code).Exit)
}

// FailureOf returns the failure that a result reports, or nil: of the tool itself, of the first
// failed call of a batch, or of a script.
func FailureOf(tool string, res *sdk.CallToolResult) *cli.Reported {
	if code, ok := mcp.ErrorCode(res); ok {
		return &cli.Reported{Exit: errclass.Of(code).Exit}
	}
	if res.IsError {
		return &cli.Reported{Exit: cli.ExitFailed}
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
	if Structured(res, &inner) != nil {
		return nil
	}
	for _, r := range inner.Results {
		if r.Error != nil {
			return &cli.Reported{Exit: errclass.Of(r.Error.Code).Exit}
		}
	}
	if inner.OK != nil && !*inner.OK {
		code, _, _ := strings.Cut(inner.Error, ":")
		return &cli.Reported{Exit: errclass.Of(executor.Code(code)).Exit}
	}
	return nil
}

// Structured decodes the structured result of a tool into v.
func Structured(res *sdk.CallToolResult, v any) error {
	data, err := json.Marshal(res.StructuredContent)
	return cmp.Or(err, json.Unmarshal(data, v))
}
