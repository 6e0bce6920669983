package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// A CallRate limits the rate of calls of all sessions that share it, see Options.CallRate. It is safe
// for concurrent use.
type CallRate struct{ limit *rate.Limiter } // nil means no limit

// NewCallRate returns a limit of perMinute calls. A burst of this many calls is allowed. 0 means
// DefaultCallsPerMinute; a negative value means no limit.
func NewCallRate(perMinute int) *CallRate {
	if perMinute < 0 {
		return new(CallRate)
	}
	if perMinute == 0 {
		perMinute = DefaultCallsPerMinute
	}
	return &CallRate{rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)}
}

// mayCall returns an error if a call of t exceeds the rate limit. chrome_status is exempt.
func (s *toolSession) mayCall(t *tool) error {
	limit := s.calls.limit
	if limit == nil || t.name == "chrome_status" || limit.Allow() {
		return nil
	}
	return rateLimited(limit, "call", 100*time.Millisecond, "Try again in %v, and read each result before the next call; the user can allow more with --max-calls.")
}

// rateLimited returns the error of a call that limit, on what, does not allow. The hint contains %v for
// the time until it does, which is rounded to unit.
func rateLimited(limit *rate.Limiter, what string, unit time.Duration, hint string) error {
	wait := limit.Reserve()
	delay := max(wait.Delay().Round(unit), unit)
	wait.Cancel()
	return &executor.Error{Code: executor.ErrBackpressure, Retryable: true,
		Err: &rateLimitError{limit.Burst(), what, delay}, Hint: fmt.Sprintf(hint, delay)}
}

// A rateLimitError is the cause of an error of rateLimited.
type rateLimitError struct {
	perMinute int
	what      string        // "call" or "question"
	delay     time.Duration // until the next call is allowed
}

func (e *rateLimitError) Error() string {
	return fmt.Sprintf("rate limit of %s per minute reached", phrase.Count(e.perMinute, e.what, e.what+"s"))
}

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
// reports completion and keeps the short parts of the structured content. The page shows the effect
// of an action, but not what a script returned.
func (t *tool) shortened(res *sdk.CallToolResult) *sdk.CallToolResult {
	next := "take a snapshot to see the page"
	switch t.kind {
	case evaluates, stores, states, batches:
		next = "request less next time"
	}
	short := &sdk.CallToolResult{Meta: res.Meta, Content: []sdk.Content{&sdk.TextContent{
		Text: "done; the result is omitted because it is too large; " + next}}}
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
	return executor.Errorf(executor.ErrBadArgs, save+t.requestLess()+"The user can allow more with --max-result.",
		"result of %d bytes exceeds the limit of %d", n, s.opts.MaxResultBytes)
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
