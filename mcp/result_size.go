package mcp

import (
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// sizeOf returns the size of a result when it is sent, in bytes.
func sizeOf(res *sdk.CallToolResult) (n int64) {
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			n += int64(len(c.Text))
		case *sdk.ImageContent:
			n += browsertools.Base64Size(c.Data)
		}
	}
	raw, _ := res.StructuredContent.(json.RawMessage)
	return n + int64(len(raw))
}

// Limits of a shortened result.
const (
	maxShortString = 200 // characters
	maxShortList   = 5   // elements
)

// shortened returns the result of a completed action whose result is too large. It
// reports completion, or the outcome of the calls in it, and keeps the short parts of the
// structured content. The page shows the effect of an action, but not what a script returned.
func (t *tool) shortened(res *sdk.CallToolResult) *sdk.CallToolResult {
	outcome, next := "done", "take a snapshot to see the page"
	switch t.kind {
	case evaluates, stores, states, batches:
		next = "request less next time"
	}
	if t.kind == batches {
		outcome = mcptransport.OutcomeOf(res) // calls in it may have failed
	}
	short := &sdk.CallToolResult{Meta: res.Meta, Content: []sdk.Content{&sdk.TextContent{
		Text: outcome + "; the result is omitted because it is too large; " + next}}}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		short.StructuredContent = json.RawMessage(pagetext.RewriteJSON(raw, shortValue))
	}
	return short
}

// shortValue shortens the strings and lists in a JSON value. It keeps all members
// of objects, because a schema may require them.
func shortValue(v any) any {
	switch v := v.(type) {
	case string:
		return pagetext.Truncate(v, maxShortString)
	case []any:
		v = v[:min(len(v), maxShortList)]
		for i := range v {
			v[i] = shortValue(v[i])
		}
		return v
	case map[string]any:
		for k, e := range v {
			v[k] = shortValue(e)
		}
	}
	return v
}

// checkSize returns an error if a result of t exceeds the size limit.
func (r *toolRunner) checkSize(t *tool, res *sdk.CallToolResult) error {
	n := sizeOf(res)
	if n <= r.opts.MaxResultBytes {
		return nil
	}
	save := ""
	if r.output.path != "" && t.hasParam("file") {
		save = "Save it with file. "
	}
	return executor.Errorf(executor.ErrBadArgs, save+t.requestLess()+"The user can allow more with --max-result.",
		"result of %d bytes exceeds the limit of %d", n, r.opts.MaxResultBytes)
}

// requestLess returns a sentence on how to get a smaller result of t, or "".
func (t *tool) requestLess() string {
	var ways []string
	for _, way := range [][2]string{
		{"maxChars", "a smaller maxChars"}, {"limit", "a smaller limit"}, {"selector", "a selector"}, {"ref", "a ref"},
		{"format", "a jpeg instead of a png"},
	} {
		if t.hasParam(way[0]) {
			ways = append(ways, way[1])
		}
	}
	if len(ways) == 0 {
		return ""
	}
	return "Request less: " + strings.Join(ways, ", or ") + ". "
}
