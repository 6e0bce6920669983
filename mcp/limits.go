package mcp

import (
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// newCallLimit returns the rate limiter of one session's calls, or nil for no limit.
func newCallLimit(perMinute int) *rate.Limiter {
	if perMinute < 0 {
		return nil
	}
	if perMinute == 0 {
		perMinute = DefaultCallsPerMinute
	}
	return rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)
}

// mayCall returns an error if a call of t exceeds the rate limit. chrome_status is exempt.
func (s *toolSession) mayCall(t *tool) error {
	if s.calls == nil || t.name == "chrome_status" || s.calls.Allow() {
		return nil
	}
	return rateLimited(s.calls, 100*time.Millisecond, "Try again in %v, and read each result before the next call; the user can allow more with --max-calls.")
}

// rateLimited returns the error of a call that limit does not allow. The hint contains %v for the time
// until it does, which is rounded to unit.
func rateLimited(limit *rate.Limiter, unit time.Duration, hint string) error {
	wait := limit.Reserve()
	delay := max(wait.Delay().Round(unit), unit)
	wait.Cancel()
	return &executor.Error{Code: executor.ErrBackpressure, Retryable: true,
		Err: &rateLimitError{limit.Burst(), delay}, Hint: fmt.Sprintf(hint, delay)}
}

// A rateLimitError is the cause of an error of mayCall.
type rateLimitError struct {
	perMinute int
	delay     time.Duration // until the next call is allowed
}

func (e *rateLimitError) Error() string {
	return fmt.Sprintf("rate limit of %d calls per minute reached", e.perMinute)
}

// sizeOf returns the size of a result when it is sent, in bytes.
func sizeOf(res *sdk.CallToolResult) (n int64) {
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			n += int64(len(c.Text))
		case *sdk.ImageContent:
			n += base64Size(c.Data)
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
// reports completion and keeps the short parts of the structured content.
func shortened(res *sdk.CallToolResult) *sdk.CallToolResult {
	short := &sdk.CallToolResult{Meta: res.Meta, Content: []sdk.Content{&sdk.TextContent{
		Text: "done; the result is omitted because it is too large; take a snapshot to see the page"}}}
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
func (s *toolSession) checkSize(t *tool, res *sdk.CallToolResult) error {
	n := sizeOf(res)
	if n <= s.opts.MaxResultBytes {
		return nil
	}
	save := ""
	if s.output.path != "" && t.hasParam("file") {
		save = "Save it with file. "
	}
	return executor.Errorf(executor.ErrBadArgs,
		save+"Request less: a smaller maxChars or limit, a selector or ref, a jpeg instead of a png; the user can allow more with --max-result.",
		"result of %d bytes exceeds the limit of %d", n, s.opts.MaxResultBytes)
}
