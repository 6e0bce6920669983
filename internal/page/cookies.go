package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Cookies returns the cookies that the browser would send to url, for a
// download that the gate allowed.
func (v *View) Cookies(ctx context.Context, url string) ([]*http.Cookie, error) {
	if err := v.Allows(ctx, executor.OpDownload, url); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := v.tab.Wake(ctx); err != nil {
		return nil, err
	}
	var res struct {
		Cookies []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"cookies"`
	}
	// The browser answers this without the page, so also while a dialog is open.
	err := v.tab.sess.Call(ctx, "Network.getCookies", map[string]any{"urls": []string{url}}, &res)
	if errors.Is(err, executor.ErrPolicyDenied) {
		return nil, nil // the extension tells a tab's own site's only
	}
	if err != nil {
		return nil, err
	}
	var list []*http.Cookie
	for _, c := range res.Cookies {
		list = append(list, &http.Cookie{Name: c.Name, Value: c.Value})
	}
	return list, nil
}
