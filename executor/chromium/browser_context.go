package chromium

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

var _ session.CookieJar = (*instance)(nil)

// A browserContext is the browser context that an instance uses.
type browserContext struct {
	conn      *cdpconn.Conn
	contextID string // empty means the default one
}

// createContext creates a browser context, whose network goes through proxy unless it is nil.
func (bc *browserContext) createContext(ctx context.Context, proxy *egress.Proxy) error {
	params := map[string]any{"disposeOnDetach": true}
	if proxy != nil {
		params["proxyServer"], params["proxyBypassList"] = "http://"+proxy.Addr(), "<-loopback>"
	}
	var res target.CreateBrowserContextResult
	if err := bc.conn.BrowserSession().Call(ctx, "Target.createBrowserContext", params, &res); err != nil {
		return err
	}
	bc.contextID = string(res.BrowserContextID)
	return nil
}

// inContext adds the id of the browser context to params, which it returns.
func (bc *browserContext) inContext(params map[string]any) map[string]any {
	if bc.contextID != "" {
		params["browserContextId"] = bc.contextID
	}
	return params
}

// dispose disposes of the browser context, with its pages. What it starts is added to work.
func (bc *browserContext) dispose(ctx context.Context, work *sync.WaitGroup) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work.Go(func() { cdpconn.ClosePages(ctx, bc.conn, bc.contextID) })
	return bc.conn.BrowserSession().Call(ctx, "Target.disposeBrowserContext", map[string]any{"browserContextId": bc.contextID}, nil)
}

// setPermission starts granting a permission in the browser context, or removing the grant.
func (bc *browserContext) setPermission(ctx context.Context, g executor.PageGrant, granted bool) (*cdpconn.Pending, error) {
	setting := map[bool]string{true: "granted", false: "prompt"}[granted]
	return bc.conn.BrowserSession().Start(ctx, "Browser.setPermission", bc.inContext(map[string]any{
		"origin": g.Origin, "permission": map[string]any{"name": g.Permission}, "setting": setting,
	}))
}

// AllCookies implements session.CookieJar.
func (bc *browserContext) AllCookies(ctx context.Context) ([]statefile.Cookie, error) {
	var res storage.GetCookiesResult
	if err := bc.conn.BrowserSession().Call(ctx, "Storage.getCookies", bc.inContext(map[string]any{}), &res); err != nil {
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
func (bc *browserContext) AddCookies(ctx context.Context, cookies []statefile.Cookie) error {
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
	return bc.conn.BrowserSession().Call(ctx, "Storage.setCookies", bc.inContext(map[string]any{"cookies": list}), nil)
}
