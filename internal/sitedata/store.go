// Package sitedata reads and changes the cookies and the web storage of the site that a tab shows.
package sitedata

import (
	"cmp"
	"context"
	"net/url"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// Options are the options of [New].
type Options struct {
	// Mask masks what the client must not see at the ends of truncated values.
	Mask func([]executor.Item)
	// Navigate navigates the tab to url.
	Navigate func(ctx context.Context, url string) error
}

// A Store is what the site of a tab's top document stores in the browser, for one client. Its
// methods must be called one at a time, as the calls on a tab are.
type Store struct {
	client *frames.Client
	opts   Options
}

// New returns the Store for a client.
func New(client *frames.Client, opts Options) *Store { return &Store{client, opts} }

// site checks with the gate whether op is allowed, and returns the top document and the URL of its
// requests to its own site.
func (s *Store) site(ctx context.Context, op executor.Operation) (*frames.Document, *url.URL, error) {
	d, err := s.client.Document(ctx, op)
	if err != nil {
		return nil, nil, err
	}
	origin, err := url.Parse(d.Origin)
	if err != nil || origin.Host == "" {
		return nil, nil, executor.Errorf(executor.ErrNotActionable, "Open a page of the site first.",
			"the tab's page has no cookies or storage: it is blank, failed to load, or is a data: or sandboxed page")
	}
	site, err := url.Parse(d.URL)
	if err != nil || site.Scheme != origin.Scheme || site.Host != origin.Host {
		site = origin // about:blank and blob: URLs have the site that created them
	}
	site = &url.URL{Scheme: site.Scheme, Host: site.Host, Path: cmp.Or(site.Path, "/"), RawPath: site.RawPath}
	return d, site, nil
}
