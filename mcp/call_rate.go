package mcp

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/chrome-mcp/chrome-mcp/executor"
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
func (r *toolRunner) mayCall(t *tool) error {
	limit := r.calls.limit
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
