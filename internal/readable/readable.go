// Package readable turns the markup of a web page into markdown: its main
// content, or the whole page where none can be told apart.
//
// The main content is found by a port of Mozilla's Readability, the markdown
// is written by html-to-markdown. What this package adds is what both leave
// open: when to give up looking for an article, what is never part of a text
// (scripts, hidden elements, consent banners, advertisements), which URLs a
// text may hold, and bounds on foreign input.
package readable

import (
	"fmt"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability"
	"golang.org/x/net/html"
)

// MaxBytes is how much markup is looked at; what is beyond is left out.
const MaxBytes = 10 << 20

// maxArticleElements bounds the search for the main content, whose time grows
// faster than the page. 100,000 elements take about two seconds; a page with
// more is a list or a log, of which everything is wanted anyway.
const maxArticleElements = 100_000

// Options are the options of [Convert].
type Options struct {
	// WholePage converts all of the markup that can be seen, instead of
	// looking for the main content: for a body or an element that the caller
	// chose.
	WholePage bool
}

// Result is what [Convert] returns.
type Result struct {
	// Markdown is CommonMark with tables and strikethrough. It neither begins
	// nor ends with white space. URLs in it are absolute.
	Markdown string
	// Title is the title of the page, without the site's name where that can
	// be told; empty when the page has none.
	Title string
	// WholePage says that Markdown holds the whole page: because the options
	// asked for it, or because no main content could be told apart.
	WholePage bool
	// Cut says that the markup was longer than MaxBytes.
	Cut bool
}

// Convert converts the markup of a page, or of an element of one, to markdown.
// pageURL is the page's address; relative URLs are resolved against it, or
// against the page's <base>. An empty or malformed pageURL leaves relative
// URLs as they are.
//
// Markup is never malformed: what a browser makes of it is converted, and an
// element tree too deep to be handled comes back as plain text. An error
// means a bug in one of the parsers. Convert is safe for concurrent use.
func Convert(markup, pageURL string, opts Options) (res Result, err error) {
	if len(markup) > MaxBytes {
		markup, res.Cut = strings.ToValidUTF8(markup[:MaxBytes], ""), true
	}
	// Both libraries are fed by pages that nobody vouches for.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("page cannot be converted: %v", p)
		}
	}()

	page, err := parsePage(markup, pageURL)
	if err != nil { // nested deeper than the parser goes
		res.Markdown, res.WholePage = plainText(markup), true
		return res, nil
	}
	res.Title = page.title()
	if !opts.WholePage {
		page.dropClutter()
		if article, title, ok := mainContent(page); ok {
			res.Markdown, err = toMarkdown(article)
			if title != "" {
				res.Title = title
			}
			if err == nil && res.Markdown != "" {
				res.Markdown = withHeading(res.Markdown, page.heading)
				return res, nil
			}
		}
		// The search takes the page apart.
		if page, err = parsePage(markup, pageURL); err != nil {
			return res, err
		}
		page.dropClutter()
	}
	res.WholePage = true
	page.forget("script", "noscript")
	res.Markdown, err = toMarkdown(page.root)
	return res, err
}

// mainContent looks for the main content of p, which it takes apart, and
// returns it with the page's title. It reports false when there is none, or
// when what was found is not what the page is about.
func mainContent(p *page) (article *html.Node, title string, ok bool) {
	looksLikeArticle := readability.CheckDocument(p.root)
	before := p.contentLength()

	parser := readability.NewParser()
	parser.MaxElemsToParse = maxArticleElements
	parser.KeepClasses = true // the language of code is in a class
	defer func() {
		if recover() != nil {
			article, title, ok = nil, "", false
		}
	}()
	found, err := parser.ParseAndMutate(p.root, p.base)
	if err != nil || found.Node == nil {
		return nil, "", false
	}
	if !isMainContent(textLength(found.Node), before, looksLikeArticle) {
		return nil, "", false
	}
	return found.Node, found.Title, true
}

// parseURL returns nil for what is not an absolute URL.
func parseURL(raw string) *url.URL {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || !u.IsAbs() || u.Opaque != "" {
		return nil
	}
	return u
}
