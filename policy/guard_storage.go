package policy

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The cookies and storage items of a site may be listed if the site may be read. Changes, and
// values, which often serve as passwords, need the storage grant.

func (p *guardedPage) Cookies(ctx context.Context, opts *executor.CookiesOptions) (*executor.Cookies, error) {
	return read(ctx, p, "cookies", func() (*executor.Cookies, error) { return p.next.Cookies(ctx, opts) },
		func(r *executor.Cookies) string { return r.Origin }, forValues(opts != nil && opts.Values)...)
}

func (p *guardedPage) SetCookie(ctx context.Context, cookie executor.Cookie) (*executor.StorageChange, error) {
	return p.changeStorage(ctx, "cookies",
		func() (*executor.StorageChange, error) { return p.next.SetCookie(ctx, cookie) })
}

func (p *guardedPage) DeleteCookies(ctx context.Context, names []string) (*executor.StorageChange, error) {
	return p.changeStorage(ctx, "cookies",
		func() (*executor.StorageChange, error) { return p.next.DeleteCookies(ctx, names) })
}

func (p *guardedPage) Items(
	ctx context.Context, area executor.StorageArea, opts *executor.ItemsOptions,
) (*executor.Items, error) {
	return read(ctx, p, "storage", func() (*executor.Items, error) { return p.next.Items(ctx, area, opts) },
		func(r *executor.Items) string { return r.Origin }, forValues(opts != nil && opts.Values)...)
}

func (p *guardedPage) SetItem(
	ctx context.Context, area executor.StorageArea, key, value string,
) (*executor.StorageChange, error) {
	return p.changeStorage(ctx, "storage",
		func() (*executor.StorageChange, error) { return p.next.SetItem(ctx, area, key, value) })
}

func (p *guardedPage) RemoveItems(
	ctx context.Context, area executor.StorageArea, keys []string,
) (*executor.StorageChange, error) {
	return p.changeStorage(ctx, "storage",
		func() (*executor.StorageChange, error) { return p.next.RemoveItems(ctx, area, keys) })
}

// changeStorage makes one guarded change of cookies or web storage.
func (p *guardedPage) changeStorage(
	ctx context.Context, op string, call func() (*executor.StorageChange, error),
) (*executor.StorageChange, error) {
	return read(ctx, p, op, call, func(r *executor.StorageChange) string { return r.Origin }, grantStorage)
}

func forValues(values bool) []grant {
	if values {
		return []grant{grantStorage}
	}
	return nil
}
