package chromium

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

var _ session.CookieJar = (*run)(nil)

// A partition is the site under which alone a cookie is sent.
type partition struct {
	Site     string `json:"topLevelSite"`
	Ancestor bool   `json:"hasCrossSiteAncestor"`
}

// AllCookies implements session.CookieJar.
func (r *run) AllCookies(ctx context.Context) ([]statefile.Cookie, error) {
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
	if err := r.conn.Browser().Call(ctx, "Storage.getCookies", r.inContext(nil), &res); err != nil {
		return nil, err
	}
	var list []statefile.Cookie
	for _, c := range res.Cookies {
		if c.Opaque { // nothing can name where it is sent
			continue
		}
		kept := statefile.Cookie{
			Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Expires: c.Expires,
			HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite,
		}
		if c.Partition != nil {
			kept.Partition, kept.Ancestor = c.Partition.Site, c.Partition.Ancestor
		}
		list = append(list, kept)
	}
	return list, nil
}

// AddCookies implements session.CookieJar.
func (r *run) AddCookies(ctx context.Context, cookies []statefile.Cookie) error {
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
	return r.conn.Browser().Call(ctx, "Storage.setCookies", r.inContext(map[string]any{"cookies": list}), nil)
}

// inContext adds the browser context that the run works in to parameters.
func (r *run) inContext(params map[string]any) map[string]any {
	if params == nil {
		params = map[string]any{}
	}
	if r.context != "" {
		params["browserContextId"] = r.context
	}
	return params
}
