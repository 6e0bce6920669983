package emulate

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"golang.org/x/net/http/httpguts"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// maxExtraHeaders and maxExtraHeaderBytes limit the additional headers of one origin.
const (
	maxExtraHeaders     = 50
	maxExtraHeaderBytes = 8192
)

// reservedHeaders are the headers that the browser itself sets. Names with a prefix of
// reservedHeaderPrefixes are reserved as well.
var (
	reservedHeaders = []string{
		"connection", "content-length", "cookie", "cookie2", "expect", "host", "keep-alive", "origin", "referer",
		"set-cookie", "set-cookie2", "te", "trailer", "transfer-encoding", "upgrade", "via",
	}
	reservedHeaderPrefixes = []string{"access-control-", "proxy-", "sec-"}
)

// checkHeaders returns an error if additional headers are invalid or the gate denies an origin.
func (c *Controls) checkHeaders(ctx context.Context, d *frames.Document, headers map[string]map[string]string) error {
	if len(headers) > 0 && !c.emulator.opts.OwnProcess {
		return executor.Errorf(executor.ErrBadArgs, "Omit them, or use the managed browser.", "headers cannot be added in the user's own browser")
	}
	for _, origin := range slices.Sorted(maps.Keys(headers)) {
		if !isSerializedOrigin(origin) {
			return executor.Errorf(executor.ErrBadArgs, "Write it like https://example.com or http://localhost:3000.", "headers: %q is not an origin", pagetext.FirstLine(origin))
		}
		if err := c.client.Check(ctx, d, executor.OpNavigate, origin+"/"); err != nil {
			return err
		}
		size := 0
		for name, value := range headers[origin] {
			lower := strings.ToLower(name)
			switch {
			case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
				return executor.Errorf(executor.ErrBadArgs, "Use letters, digits and dashes for the name, and one line for the value.", "header %q is invalid", pagetext.FirstLine(name))
			case slices.Contains(reservedHeaders, lower) || slices.ContainsFunc(reservedHeaderPrefixes, func(p string) bool { return strings.HasPrefix(lower, p) }):
				return executor.Errorf(executor.ErrBadArgs, "Omit it.", "header %s is set by the browser", name)
			}
			size += len(name) + len(value)
		}
		if len(headers[origin]) > maxExtraHeaders || size > maxExtraHeaderBytes {
			return executor.Errorf(executor.ErrBadArgs, "Use fewer headers.", "more than %d headers or %d bytes for %s", maxExtraHeaders, maxExtraHeaderBytes, origin)
		}
	}
	return nil
}

// isSerializedOrigin reports whether s is an http or https origin as a browser serializes it.
func isSerializedOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && frames.OriginOfURL(s) == s && s == strings.ToLower(s) && !strings.ContainsAny(s, "*?") && !strings.HasSuffix(s, ":") &&
		u.Port() != map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// ExtraHeaders are additional headers of requests, by origin and name. They are never changed.
type ExtraHeaders map[string]map[string]string

// Interception returns the command that pauses the requests that get additional headers, or that
// ends it.
func (h ExtraHeaders) Interception() cdpconn.Command {
	if len(h) == 0 {
		return cdpconn.Command{Method: "Fetch.disable"}
	}
	var patterns []map[string]any
	for _, origin := range slices.Sorted(maps.Keys(h)) {
		patterns = append(patterns, map[string]any{"urlPattern": origin + "/*", "requestStage": "Request"})
	}
	return cdpconn.Command{Method: "Fetch.enable", Params: map[string]any{"patterns": patterns}}
}

// Add returns the headers of a paused request with the additional ones, or nil if it gets
// none. A request that follows a redirect is paused again, with the headers that the page set.
func (h ExtraHeaders) Add(paused fetch.EventRequestPaused) []map[string]string {
	if paused.Request == nil {
		return nil
	}
	extra := h[frames.OriginOfURL(paused.Request.URL)]
	if len(extra) == 0 {
		return nil
	}
	var list []map[string]string
	for name, value := range paused.Request.Headers {
		text, ok := value.(string)
		replaced := slices.ContainsFunc(slices.Collect(maps.Keys(extra)), func(n string) bool { return strings.EqualFold(n, name) })
		if ok && !replaced {
			list = append(list, map[string]string{"name": name, "value": text})
		}
	}
	for name, value := range extra {
		list = append(list, map[string]string{"name": name, "value": value})
	}
	return list
}

// changeHeaders replaces the additional headers of the given origins.
func (s *settings) changeHeaders(headers map[string]map[string]string) {
	if headers == nil {
		return
	}
	all := maps.Clone(s.headers)
	if all == nil {
		all = make(ExtraHeaders)
	}
	for origin, h := range headers {
		if delete(all, origin); len(h) > 0 {
			all[origin] = maps.Clone(h)
		}
	}
	s.headers, s.Headers = all, nil
	for _, origin := range slices.Sorted(maps.Keys(all)) {
		s.Headers = append(s.Headers, executor.OriginHeaders{Origin: origin, Names: slices.Sorted(maps.Keys(all[origin]))})
	}
}
