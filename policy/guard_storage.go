package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The cookies and storage items of a site may be listed if the site may be read. Changes, and
// values, which often serve as passwords, need the storage grant.

func (x *guarded) Cookies(ctx context.Context, tab executor.TabID, opts *executor.CookiesOptions) (*executor.Cookies, error) {
	return read(ctx, x, "cookies", tab, func() (*executor.Cookies, error) { return x.next.Cookies(ctx, tab, opts) },
		func(r *executor.Cookies) string { return r.Origin }, forValues(opts != nil && opts.Values)...)
}

func (x *guarded) SetCookie(ctx context.Context, tab executor.TabID, cookie executor.Cookie) (*executor.StorageChange, error) {
	return x.changeStorage(ctx, "cookies", tab, func() (*executor.StorageChange, error) { return x.next.SetCookie(ctx, tab, cookie) })
}

func (x *guarded) DeleteCookies(ctx context.Context, tab executor.TabID, names []string) (*executor.StorageChange, error) {
	return x.changeStorage(ctx, "cookies", tab, func() (*executor.StorageChange, error) { return x.next.DeleteCookies(ctx, tab, names) })
}

func (x *guarded) Items(ctx context.Context, tab executor.TabID, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	return read(ctx, x, "storage", tab, func() (*executor.Items, error) { return x.next.Items(ctx, tab, area, opts) },
		func(r *executor.Items) string { return r.Origin }, forValues(opts != nil && opts.Values)...)
}

func (x *guarded) SetItem(ctx context.Context, tab executor.TabID, area executor.StorageArea, key, value string) (*executor.StorageChange, error) {
	return x.changeStorage(ctx, "storage", tab, func() (*executor.StorageChange, error) { return x.next.SetItem(ctx, tab, area, key, value) })
}

func (x *guarded) RemoveItems(ctx context.Context, tab executor.TabID, area executor.StorageArea, keys []string) (*executor.StorageChange, error) {
	return x.changeStorage(ctx, "storage", tab, func() (*executor.StorageChange, error) { return x.next.RemoveItems(ctx, tab, area, keys) })
}

// changeStorage makes one guarded change of cookies or web storage.
func (x *guarded) changeStorage(ctx context.Context, op string, tab executor.TabID, call func() (*executor.StorageChange, error)) (*executor.StorageChange, error) {
	return read(ctx, x, op, tab, call, func(r *executor.StorageChange) string { return r.Origin }, grantStorage)
}

func forValues(values bool) []grant {
	if values {
		return []grant{grantStorage}
	}
	return nil
}
