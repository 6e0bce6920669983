// Package deadline derives the contexts of an action from the context of its call.
package deadline

import (
	"context"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// callerKey is the context key under which the context of an action stores the caller's context.
type callerKey struct{}

// Caller returns the caller's context of an action. It limits what the action may do after
// its own timeout.
func Caller(ctx context.Context) context.Context {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller
	}
	return ctx
}

// ForAction returns the context in which an action waits for its element. It ends slightly
// before the caller's context, so that the action can still return the reason.
func ForAction(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		timeout = executor.DefaultActionTimeout
	}
	caller := Caller(ctx)
	return context.WithTimeout(context.WithValue(ctx, callerKey{}, caller), min(timeout, Limit(caller)))
}

// Extend returns a context that ends grace after the deadline of ctx, or grace from now if that
// deadline has passed, but not after the caller's context.
func Extend(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	if now := time.Now(); deadline.Before(now) {
		deadline = now
	}
	caller := Caller(ctx)
	return context.WithDeadline(context.WithValue(caller, callerKey{}, caller), deadline.Add(grace))
}

// Limit returns how long the page may take to respond during a call. It is slightly shorter
// than the remaining time of the call, so that the call can still return an error.
func Limit(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return cdpconn.DefaultCallTimeout
	}
	left := time.Until(deadline)
	return max(left-min(left/4, 500*time.Millisecond), 10*time.Millisecond)
}
