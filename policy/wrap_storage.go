package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// What a site keeps may be listed where it may be read. Values, which are often
// as good as passwords, and changes need a grant of their own.

func (x *guarded) Cookies(ctx context.Context, tab executor.TabID, opts *executor.CookiesOptions) (*executor.Cookies, error) {
	return read(ctx, x, "cookies", tab, func() (*executor.Cookies, error) { return x.next.Cookies(ctx, tab, opts) },
		func(r *executor.Cookies) string { return r.Origin }, forValues(opts != nil && opts.Values)...)
}

func (x *guarded) SetCookie(ctx context.Context, tab executor.TabID, cookie executor.Cookie) (*executor.Stored, error) {
	return x.stored(ctx, "cookies", tab, func() (*executor.Stored, error) { return x.next.SetCookie(ctx, tab, cookie) })
}

func (x *guarded) DeleteCookies(ctx context.Context, tab executor.TabID, names []string) (*executor.Stored, error) {
	return x.stored(ctx, "cookies", tab, func() (*executor.Stored, error) { return x.next.DeleteCookies(ctx, tab, names) })
}

func (x *guarded) Items(ctx context.Context, tab executor.TabID, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	return read(ctx, x, "storage", tab, func() (*executor.Items, error) { return x.next.Items(ctx, tab, area, opts) },
		func(r *executor.Items) string { return r.Origin }, forValues(opts != nil && opts.Values)...)
}

func (x *guarded) SetItem(ctx context.Context, tab executor.TabID, area executor.StorageArea, key, value string) (*executor.Stored, error) {
	return x.stored(ctx, "storage", tab, func() (*executor.Stored, error) { return x.next.SetItem(ctx, tab, area, key, value) })
}

func (x *guarded) RemoveItems(ctx context.Context, tab executor.TabID, area executor.StorageArea, keys []string) (*executor.Stored, error) {
	return x.stored(ctx, "storage", tab, func() (*executor.Stored, error) { return x.next.RemoveItems(ctx, tab, area, keys) })
}

// stored makes one guarded change of what a site keeps.
func (x *guarded) stored(ctx context.Context, op string, tab executor.TabID, call func() (*executor.Stored, error)) (*executor.Stored, error) {
	return read(ctx, x, op, tab, call, func(r *executor.Stored) string { return r.Origin }, grantStorage)
}

func forValues(values bool) []grant {
	if values {
		return []grant{grantStorage}
	}
	return nil
}
