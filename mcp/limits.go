package mcp

import (
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// newCallLimit returns the limiter of one session's calls, nil for none.
func newCallLimit(perMinute int) *rate.Limiter {
	if perMinute < 0 {
		return nil
	}
	if perMinute == 0 {
		perMinute = DefaultCallsPerMinute
	}
	return rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)
}

// mayCall refuses a call that is one too many. chrome_status never fails.
func (s *session) mayCall(t *tool) error {
	if s.calls == nil || t.name == "chrome_status" || s.calls.Allow() {
		return nil
	}
	wait := s.calls.Reserve()
	delay := wait.Delay().Round(100 * time.Millisecond)
	wait.Cancel()
	return &executor.Error{Code: executor.ErrBackpressure, Retryable: true,
		Err:  fmt.Errorf("this session has made its %d calls of a minute", s.calls.Burst()),
		Hint: fmt.Sprintf("Try again in %v, and look at each answer before the next call; the user can allow more with --max-calls.", max(delay, 100*time.Millisecond))}
}

// sizeOf returns how many bytes of a result are sent.
func sizeOf(res *sdk.CallToolResult) (n int64) {
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			n += int64(len(c.Text))
		case *sdk.ImageContent:
			n += int64(len(c.Data)+2) / 3 * 4 // as it is sent
		}
	}
	if raw, ok := res.StructuredContent.(interface{ MarshalJSON() ([]byte, error) }); ok {
		if text, err := raw.MarshalJSON(); err == nil {
			n += int64(len(text))
		}
	}
	return n
}

// fits returns an error for a result that is larger than anybody should get.
func (s *session) fits(res *sdk.CallToolResult) error {
	n := sizeOf(res)
	if n <= s.maxResult {
		return nil
	}
	return executor.Errorf(executor.ErrBadArgs,
		"Ask for less: a smaller maxChars or limit, a selector or ref, a jpeg instead of a png; the user can allow more with --max-result.",
		"the answer would have %d bytes, more than %d", n, s.maxResult)
}
