package chromium

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
)

var _ session.CookieJar = (*instance)(nil)

// AllCookies implements session.CookieJar.
func (in *instance) AllCookies(ctx context.Context) ([]statefile.Cookie, error) {
	var res storage.GetCookiesResult
	if err := in.conn.BrowserSession().Call(ctx, "Storage.getCookies", in.inContext(map[string]any{}), &res); err != nil {
		return nil, err
	}
	var list []statefile.Cookie
	for _, c := range res.Cookies {
		if c.PartitionKeyOpaque { // its partition cannot be saved
			continue
		}
		saved := statefile.Cookie{
			Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Expires: c.Expires,
			HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: executor.SameSite(c.SameSite),
		}
		if c.PartitionKey != nil {
			saved.Partition, saved.Ancestor = c.PartitionKey.TopLevelSite, c.PartitionKey.HasCrossSiteAncestor
		}
		list = append(list, saved)
	}
	return list, nil
}

// AddCookies implements session.CookieJar.
func (in *instance) AddCookies(ctx context.Context, cookies []statefile.Cookie) error {
	if len(cookies) == 0 {
		return nil
	}
	var list []map[string]any
	for _, c := range cookies {
		param := map[string]any{"name": c.Name, "value": c.Value, "domain": c.Domain, "path": c.Path, "httpOnly": c.HTTPOnly, "secure": c.Secure}
		if c.Path == "" {
			param["path"] = "/"
		}
		if c.Expires > 0 {
			param["expires"] = c.Expires
		}
		if c.SameSite != "" {
			param["sameSite"] = c.SameSite
		}
		if c.Partition != "" {
			param["partitionKey"] = network.CookiePartitionKey{TopLevelSite: c.Partition, HasCrossSiteAncestor: c.Ancestor}
		}
		list = append(list, param)
	}
	return in.conn.BrowserSession().Call(ctx, "Storage.setCookies", in.inContext(map[string]any{"cookies": list}), nil)
}
