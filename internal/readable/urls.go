package readable

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// baseURL returns the base of the page's relative URLs: its first <base>, which may itself be
// relative, or page.
func baseURL(root *html.Node, page *url.URL) *url.URL {
	for n := range root.Descendants() {
		href, ok := lookup(n, "href")
		if n.DataAtom != atom.Base || !ok {
			continue
		}
		if u, err := url.Parse(strings.TrimSpace(href)); err == nil {
			if page != nil {
				u = page.ResolveReference(u)
			}
			if u.Scheme == "http" || u.Scheme == "https" {
				return u
			}
		}
		break // browsers use only the first
	}
	return page
}

// linkSchemes are the schemes that a link may have. Links with another scheme are replaced by their
// text: javascript: and data: URLs are code.
var linkSchemes = map[string]bool{
	"http": true, "https": true, "mailto": true, "tel": true, "ftp": true, "file": true, "": true,
}

// cleanURLs makes the URLs of links and images absolute and replaces links to code by their text.
func (p *page) cleanURLs() {
	var empty []*html.Node
	for n := range p.root.Descendants() {
		switch n.DataAtom {
		case atom.Base:
			empty = append(empty, n) // later steps must not apply it again
		case atom.A, atom.Area:
			href, ok := lookup(n, "href")
			if !ok {
				continue
			}
			if abs, ok := p.resolve(href); ok {
				setAttr(n, "href", abs)
			} else {
				n.Data, n.DataAtom, n.Attr = "span", atom.Span, nil
			}
		case atom.Img:
			loadLazily(n)
			src := attr(n, "src")
			abs, ok := p.resolve(src)
			if !ok || strings.TrimSpace(src) == "" { // an empty src resolves to the page itself
				// The alternative text is more useful than a megabyte of base64.
				if alt := strings.TrimSpace(attr(n, "alt")); alt != "" {
					n.Type, n.Data, n.DataAtom, n.Attr = html.TextNode, alt, 0, nil
				} else {
					empty = append(empty, n)
				}
				continue
			}
			setAttr(n, "src", abs)
		}
	}
	for _, n := range empty {
		n.Parent.RemoveChild(n)
	}
}

// resolve returns raw as an absolute URL. It reports false if a text must not contain that URL.
func (p *page) resolve(raw string) (string, bool) {
	// Browsers ignore these within a URL, as in "java\nscript:".
	raw = strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' })
	raw = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(raw)
	u, err := url.Parse(raw)
	if err != nil {
		// For example a bare percent sign. Retain the URL unless it is code.
		scheme, _, found := strings.Cut(raw, ":")
		if found && !strings.ContainsAny(scheme, "/?#") && !linkSchemes[strings.ToLower(scheme)] {
			return "", false
		}
		return raw, true
	}
	if !linkSchemes[u.Scheme] {
		return "", false
	}
	if p.base != nil && !u.IsAbs() {
		u = p.base.ResolveReference(u)
	}
	return u.String(), true
}

// loadLazily sets src to the URL that a script sets when the image is scrolled into view.
func loadLazily(img *html.Node) {
	src := attr(img, "src")
	if src != "" && !strings.HasPrefix(src, "data:") {
		return
	}
	for _, key := range []string{"data-src", "data-original", "data-lazy-src", "data-srcset", "srcset"} {
		v := strings.TrimSpace(attr(img, key))
		if strings.HasSuffix(key, "srcset") {
			v, _, _ = strings.Cut(v, " ")
			v = strings.TrimSuffix(v, ",")
		}
		if v != "" && !strings.HasPrefix(v, "data:") {
			setAttr(img, "src", v)
			return
		}
	}
}
