package session

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// Cookies lists the cookies of a document's site.
func (s *Session) Cookies(ctx context.Context, id executor.TabID, opts *executor.CookiesOptions) (*executor.Cookies, error) {
	return onTab(ctx, s, "cookies", id, 0, func(v *page.View) (*executor.Cookies, error) { return v.Cookies(ctx, opts) })
}

// SetCookie sets one.
func (s *Session) SetCookie(ctx context.Context, id executor.TabID, cookie executor.Cookie) (*executor.Stored, error) {
	return onTab(ctx, s, "set cookie", id, 0, func(v *page.View) (*executor.Stored, error) { return v.SetCookie(ctx, cookie) })
}

// DeleteCookies deletes some.
func (s *Session) DeleteCookies(ctx context.Context, id executor.TabID, names []string) (*executor.Stored, error) {
	return onTab(ctx, s, "delete cookies", id, 0, func(v *page.View) (*executor.Stored, error) { return v.DeleteCookies(ctx, names) })
}

// Items lists what a document's origin keeps.
func (s *Session) Items(ctx context.Context, id executor.TabID, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	return onTab(ctx, s, "items", id, 0, func(v *page.View) (*executor.Items, error) { return v.Items(ctx, area, opts) })
}

// SetItem keeps one.
func (s *Session) SetItem(ctx context.Context, id executor.TabID, area executor.StorageArea, key, value string) (*executor.Stored, error) {
	return onTab(ctx, s, "set item", id, 0, func(v *page.View) (*executor.Stored, error) { return v.SetItem(ctx, area, key, value) })
}

// RemoveItems removes some.
func (s *Session) RemoveItems(ctx context.Context, id executor.TabID, area executor.StorageArea, keys []string) (*executor.Stored, error) {
	return onTab(ctx, s, "remove items", id, 0, func(v *page.View) (*executor.Stored, error) { return v.RemoveItems(ctx, area, keys) })
}
