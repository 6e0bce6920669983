package chromium

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

var _ session.CookieJar = (*instance)(nil)

// A partition is the top-level site to which a partitioned cookie is restricted.
type partition struct {
	Site     string `json:"topLevelSite"`
	Ancestor bool   `json:"hasCrossSiteAncestor"`
}

// AllCookies implements session.CookieJar.
func (r *instance) AllCookies(ctx context.Context) ([]statefile.Cookie, error) {
	var res struct {
		Cookies []struct {
			Name      string            `json:"name"`
			Value     string            `json:"value"`
			Domain    string            `json:"domain"`
			Path      string            `json:"path"`
			Expires   float64           `json:"expires"`
			HTTPOnly  bool              `json:"httpOnly"`
			Secure    bool              `json:"secure"`
			SameSite  executor.SameSite `json:"sameSite"`
			Partition *partition        `json:"partitionKey"`
			Opaque    bool              `json:"partitionKeyOpaque"`
		} `json:"cookies"`
	}
	if err := r.conn.BrowserSession().Call(ctx, "Storage.getCookies", r.inContext(nil), &res); err != nil {
		return nil, err
	}
	var list []statefile.Cookie
	for _, c := range res.Cookies {
		if c.Opaque { // its partition cannot be saved
			continue
		}
		saved := statefile.Cookie{
			Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Expires: c.Expires,
			HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite,
		}
		if c.Partition != nil {
			saved.Partition, saved.Ancestor = c.Partition.Site, c.Partition.Ancestor
		}
		list = append(list, saved)
	}
	return list, nil
}

// AddCookies implements session.CookieJar.
func (r *instance) AddCookies(ctx context.Context, cookies []statefile.Cookie) error {
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
			param["partitionKey"] = partition{c.Partition, c.Ancestor}
		}
		list = append(list, param)
	}
	return r.conn.BrowserSession().Call(ctx, "Storage.setCookies", r.inContext(map[string]any{"cookies": list}), nil)
}

// inContext adds the id of the instance's browser context to params.
func (r *instance) inContext(params map[string]any) map[string]any {
	if params == nil {
		params = map[string]any{}
	}
	if r.context != "" {
		params["browserContextId"] = r.context
	}
	return params
}
