package sitedata

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cookie"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// toCookie converts a cookie of the browser. It omits the value unless withValue is set.
func toCookie(c *network.Cookie, withValue bool) executor.Cookie {
	result := executor.Cookie{
		Name: c.Name, Bytes: len(c.Value), Domain: c.Domain, Path: c.Path, Expires: cookie.Expiry(float64(c.Expires)),
		HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: executor.SameSite(c.SameSite),
	}
	if withValue {
		result.Value = c.Value
	}
	if c.PartitionKey != nil {
		result.Partition = c.PartitionKey.TopLevelSite
	}
	return result
}

// Cookies lists the cookies that the browser sends with requests of the document to its own site.
func (s *Store) Cookies(ctx context.Context, opts *executor.CookiesOptions) (*executor.Cookies, error) {
	o := *cmp.Or(opts, new(executor.CookiesOptions))
	ctx, cancel := context.WithTimeout(ctx, s.client.Tree.Timing().Read)
	defer cancel()
	op := executor.OpRead
	if o.Values {
		op = executor.OpStorage
	}
	d, site, err := s.site(ctx, op)
	if err != nil {
		return nil, err
	}
	list, err := s.cookiesFor(ctx, site.String())
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c *network.Cookie) bool { return o.Names != nil && !slices.Contains(o.Names, c.Name) })
	slices.SortFunc(list, func(a, b *network.Cookie) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Domain, b.Domain), strings.Compare(a.Path, b.Path))
	})
	res := &executor.Cookies{Origin: d.Origin, Cookies: []executor.Cookie{}, Total: len(list)}
	budget := cmp.Or(o.MaxChars, executor.DefaultMaxChars)
	for _, c := range list {
		if o.After != "" && c.Name <= o.After {
			continue
		}
		if budget <= 0 && c.Name != res.Cookies[len(res.Cookies)-1].Name {
			res.After = res.Cookies[len(res.Cookies)-1].Name
			break
		}
		result := toCookie(c, o.Values)
		res.Cookies = append(res.Cookies, result)
		budget -= cookieChars + utf8.RuneCountInString(result.Name+result.Value+result.Domain+result.Path)
	}
	return res, nil
}

// cookieChars is the approximate number of characters in the output for a cookie, without its
// texts.
const cookieChars = 60

// SetCookie sets a cookie of the document's site.
func (s *Store) SetCookie(ctx context.Context, c executor.Cookie) (*executor.StorageChange, error) {
	ctx, cancel := context.WithTimeout(ctx, s.client.Tree.Timing().Read)
	defer cancel()
	d, site, err := s.site(ctx, executor.OpStorage)
	if err != nil {
		return nil, err
	}
	c, err = cookie.Check(c, site)
	if err != nil {
		return nil, err
	}
	if err := s.checkDomain(ctx, d, site, c.Domain); err != nil {
		return nil, err
	}
	at := *site
	at.Path, at.RawPath = c.Path, ""
	params := network.SetCookieParams{
		Name: c.Name, Value: c.Value, URL: at.String(), Domain: c.Domain, Path: c.Path, HTTPOnly: &c.HTTPOnly, Secure: &c.Secure,
		SameSite: network.CookieSameSite(c.SameSite),
	}
	if !c.Expires.IsZero() {
		params.Expires = cdp.TimeSinceEpoch(c.Expires.Unix())
	}
	var res struct {
		Success bool `json:"success"`
	}
	if err := s.client.Tree.Command(ctx, network.CommandSetCookie, params, &res); err != nil {
		return nil, frames.TimeoutAs(err, "the browser to set the cookie")
	}
	stored, err := s.cookiesFor(ctx, at.String())
	if err != nil {
		return nil, err
	}
	matches := func(k *network.Cookie) bool {
		domain := cmp.Or(c.Domain, site.Hostname())
		return k.Name == c.Name && k.Domain == domain && k.Path == c.Path && k.Value == c.Value && k.HTTPOnly == c.HTTPOnly && k.Secure == c.Secure
	}
	if !res.Success || !slices.ContainsFunc(stored, matches) {
		return nil, executor.Errorf(executor.ErrNotActionable, "Check its attributes, or ask the user whether the browser blocks cookies of the site.", "the browser rejected cookie %.60q", c.Name)
	}
	return &executor.StorageChange{Origin: d.Origin, Count: 1}, nil
}

// DeleteCookies deletes cookies that the browser sends with requests of the document to its own
// site. If names is nil, it deletes all of them that the gate allows.
func (s *Store) DeleteCookies(ctx context.Context, names []string) (*executor.StorageChange, error) {
	ctx, cancel := context.WithTimeout(ctx, s.client.Tree.Timing().Read)
	defer cancel()
	d, site, err := s.site(ctx, executor.OpStorage)
	if err != nil {
		return nil, err
	}
	list, err := s.cookiesFor(ctx, site.String())
	if err != nil {
		return nil, err
	}
	res := &executor.StorageChange{Origin: d.Origin}
	var chosen []*network.Cookie
	for _, c := range list {
		if names != nil && !slices.Contains(names, c.Name) {
			continue
		}
		if err := s.checkDomain(ctx, d, site, c.Domain); err != nil && names != nil {
			return nil, err
		} else if err != nil {
			res.SkippedCookies++
			continue
		}
		chosen = append(chosen, c)
	}
	for _, c := range chosen {
		params := network.DeleteCookiesParams{Name: c.Name, Domain: c.Domain, Path: c.Path, PartitionKey: c.PartitionKey}
		if err := s.client.Tree.Command(ctx, network.CommandDeleteCookies, params, nil); err != nil {
			return nil, frames.TimeoutAs(err, "the browser to delete the cookies")
		}
		res.Count++
	}
	return res, nil
}

// checkDomain checks with the gate the domain of a cookie if it is a parent domain of the
// document's host, because other hosts also receive such a cookie.
func (s *Store) checkDomain(ctx context.Context, d *frames.Document, site *url.URL, domain string) error {
	domain = strings.TrimPrefix(domain, ".")
	if domain == "" || domain == site.Hostname() {
		return nil
	}
	parent := url.URL{Scheme: site.Scheme, Host: domain, Path: "/"}
	if port := site.Port(); port != "" {
		parent.Host += ":" + port
	}
	return s.client.Check(ctx, d, executor.OpStorage, parent.String())
}

// cookiesFor returns the cookies that the browser would send to url.
func (s *Store) cookiesFor(ctx context.Context, url string) ([]*network.Cookie, error) {
	var res network.GetCookiesResult
	// The browser responds without the page, so also while a dialog is open.
	err := s.client.Tree.Session().Call(ctx, network.CommandGetCookies, network.GetCookiesParams{URLs: []string{url}}, &res)
	if err != nil {
		return nil, frames.TimeoutAs(err, "the browser to return the cookies")
	}
	return slices.DeleteFunc(res.Cookies, func(c *network.Cookie) bool { return c.PartitionKeyOpaque }), nil
}

// RequestCookies returns the cookies that the browser would send to url, in any order. It does not
// check with the gate.
func (s *Store) RequestCookies(ctx context.Context, url string) ([]*http.Cookie, error) {
	ctx, cancel := context.WithTimeout(ctx, s.client.Tree.Timing().Read)
	defer cancel()
	cookies, err := s.cookiesFor(ctx, url)
	if errors.Is(err, executor.ErrPolicyDenied) {
		return nil, nil // the extension returns only cookies of the tab's own site
	}
	if err != nil {
		return nil, err
	}
	var list []*http.Cookie
	for _, c := range cookies {
		list = append(list, &http.Cookie{Name: c.Name, Value: c.Value})
	}
	return list, nil
}
