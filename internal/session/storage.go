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

// SetCookie sets a cookie of a document's site.
func (s *Session) SetCookie(ctx context.Context, id executor.TabID, cookie executor.Cookie) (*executor.StorageChange, error) {
	return onTab(ctx, s, "set cookie", id, 0, func(v *page.View) (*executor.StorageChange, error) { return v.SetCookie(ctx, cookie) })
}

// DeleteCookies deletes cookies of a document's site.
func (s *Session) DeleteCookies(ctx context.Context, id executor.TabID, names []string) (*executor.StorageChange, error) {
	return onTab(ctx, s, "delete cookies", id, 0, func(v *page.View) (*executor.StorageChange, error) { return v.DeleteCookies(ctx, names) })
}

// Items lists the storage items of a document's origin.
func (s *Session) Items(ctx context.Context, id executor.TabID, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	return onTab(ctx, s, "items", id, 0, func(v *page.View) (*executor.Items, error) { return v.Items(ctx, area, opts) })
}

// SetItem sets a storage item.
func (s *Session) SetItem(ctx context.Context, id executor.TabID, area executor.StorageArea, key, value string) (*executor.StorageChange, error) {
	return onTab(ctx, s, "set item", id, 0, func(v *page.View) (*executor.StorageChange, error) { return v.SetItem(ctx, area, key, value) })
}

// RemoveItems removes storage items.
func (s *Session) RemoveItems(ctx context.Context, id executor.TabID, area executor.StorageArea, keys []string) (*executor.StorageChange, error) {
	return onTab(ctx, s, "remove items", id, 0, func(v *page.View) (*executor.StorageChange, error) { return v.RemoveItems(ctx, area, keys) })
}
