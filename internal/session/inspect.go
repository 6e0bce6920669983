package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// Console returns console messages.
func (s *Session) Console(ctx context.Context, id executor.TabID, opts *executor.ConsoleOptions) (*executor.Console, error) {
	return recorded(ctx, s, "console messages", id, func(v *page.View) (*executor.Console, error) { return v.Console(ctx, opts) })
}

// PageErrors returns uncaught errors.
func (s *Session) PageErrors(ctx context.Context, id executor.TabID, opts *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	return recorded(ctx, s, "page errors", id, func(v *page.View) (*executor.PageErrors, error) { return v.PageErrors(ctx, opts) })
}

// Requests returns the requests of pages.
func (s *Session) Requests(ctx context.Context, id executor.TabID, opts *executor.RequestsOptions) (*executor.Requests, error) {
	return recorded(ctx, s, "network requests", id, func(v *page.View) (*executor.Requests, error) { return v.Requests(ctx, opts) })
}

// recorded is onTab for methods that need a session with SessionOptions.Record.
func recorded[T any](ctx context.Context, s *Session, op string, id executor.TabID, call func(*page.View) (T, error)) (T, error) {
	return onTab(ctx, s, op, id, 0, func(v *page.View) (T, error) {
		if !s.opts.Record {
			var zero T
			return zero, executor.Errorf(executor.ErrBadArgs, "Open the session with SessionOptions.Record.", "recording is disabled for this session")
		}
		return call(v)
	})
}
