package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

var _ executor.Watcher = (*Session)(nil)

// WatchTabs lists the open tabs. Unlike Tabs, it does not count as having reported the tabs that
// the user has shared: the next call of the client still reports them.
func (s *Session) WatchTabs(ctx context.Context) []executor.Tab {
	if s.alive() != nil {
		return nil
	}
	b := s.provider.Current()
	if b == nil {
		return nil
	}
	return s.list(ctx, b)
}

// Watch opens a live view of a tab.
func (s *Session) Watch(ctx context.Context, id executor.TabID) (executor.LiveView, error) {
	const op = "watch"
	if err := s.alive(); err != nil {
		return nil, executor.Wrap(op, id, err)
	}
	if s.provider.Kind() == executor.BackendExtension {
		// The extension sends tools no frames of a screencast: they may show denied documents.
		return nil, executor.Wrap(op, id, executor.Errorf(executor.ErrBadArgs, "", "a tab of the user's Chrome has no live view"))
	}
	b := s.provider.Current()
	if b == nil || id == "" {
		return nil, executor.Wrap(op, id, executor.Errorf(executor.ErrTabNotFound, "", "tab %s not found", id))
	}
	t, err := s.tab(ctx, b, id)
	if err != nil {
		return nil, executor.Wrap(op, id, asExecutorError(err))
	}
	if err := t.Page.EnsureAttached(ctx); err != nil {
		return nil, executor.Wrap(op, id, asExecutorError(err))
	}
	return s.view(t).Watch(), nil
}
