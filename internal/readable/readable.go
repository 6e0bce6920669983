// Package readable converts the markup of a web page to markdown: its main content, or the complete
// page if no main content can be identified.
//
// A port of Mozilla's Readability finds the main content, and html-to-markdown writes the markdown.
// This package decides what both leave open: when to stop searching for an article, what is never
// part of a text (scripts, hidden elements, consent banners, advertisements), which URLs a text may
// contain, and limits on untrusted input.
package readable

import (
	"fmt"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

// MaxBytes is the maximum size of markup; the rest is ignored.
const MaxBytes = 10 << 20

// maxArticleElements limits the search for the main content, whose time grows faster than the page.
// 100,000 elements take about two seconds. A larger page is a list or a log, which is wanted
// completely.
const maxArticleElements = 100_000

// Options are the options of [Convert].
type Options struct {
	// WholePage converts all visible markup instead of searching for the main content: for a body
	// or an element that the caller selected.
	WholePage bool
	// Mark is a text of letters and digits that the page does not contain. After each element with the
	// attribute data-element-mark, the markdown contains Mark, the value of the attribute and MarkEnd.
	// Empty means no marks.
	Mark string
}

// MarkEnd ends a mark in markdown.
const MarkEnd = ";"

// Result is what [Convert] returns.
type Result struct {
	// Markdown is CommonMark with tables and strikethrough, without leading and trailing white
	// space. Its URLs are absolute.
	Markdown string
	// Title is the title of the page, without the site's name if that can be identified. It is
	// empty if the page has none.
	Title string
	// WholePage reports that Markdown contains the complete page, because the options requested it
	// or because no main content was identified.
	WholePage bool
	// Truncated reports that the markup was longer than MaxBytes.
	Truncated bool
}

// Convert converts the markup of a page, or of an element of one, to markdown. It resolves relative
// URLs against pageURL, the page's URL, or the page's <base>. If pageURL is empty or malformed,
// relative URLs are not changed.
//
// No markup is malformed: Convert parses it like a browser, and returns plain text for an element
// tree that is too deep. An error indicates a bug in one of the parsers. Convert is safe for
// concurrent use.
func Convert(markup, pageURL string, opts Options) (res Result, err error) {
	if len(markup) > MaxBytes {
		markup, res.Truncated = strings.ToValidUTF8(markup[:MaxBytes], ""), true
	}
	// Both libraries process untrusted pages.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("page cannot be converted: %v", p)
		}
	}()

	page, err := parsePage(markup, pageURL)
	if err != nil { // nested too deeply for the parser
		res.Markdown, res.WholePage = plainText(markup), true
		return res, nil
	}
	res.Title = page.title()
	if !opts.WholePage {
		page.dropClutter()
		heading := page.titleHeading()
		if article, title, ok := mainContent(page); ok {
			writeMarks(article, opts.Mark)
			res.Markdown, err = toMarkdown(article)
			if title != "" {
				res.Title = title
			}
			if err == nil && res.Markdown != "" {
				res.Markdown = withHeading(res.Markdown, heading, res.Title)
				return res, nil
			}
		}
		// The search modified the page.
		if page, err = parsePage(markup, pageURL); err != nil {
			return res, err
		}
		page.dropClutter()
	}
	res.WholePage = true
	page.remove(func(n *html.Node) bool { return n.Data == "script" || n.Data == "noscript" })
	writeMarks(page.root, opts.Mark)
	res.Markdown, err = toMarkdown(page.root)
	return res, err
}

// markAttr is the attribute of a marked element.
const markAttr = "data-element-mark"

// writeMarks adds the marks of the elements in n to the text.
func writeMarks(n *html.Node, mark string) {
	if mark == "" {
		return
	}
	for d := range n.Descendants() {
		if number := attr(d, markAttr); number != "" && d.Parent != nil {
			d.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: " " + mark + number + MarkEnd}, d.NextSibling)
		}
	}
}

// mainContent searches for the main content of p, which it modifies, and returns it with the page's
// title. It reports false if there is none, or if the result is not the main content of the page.
func mainContent(p *page) (article *html.Node, title string, ok bool) {
	looksLikeArticle := readability.CheckDocument(p.root)
	before := p.contentLength()

	p.markLevels()
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxArticleElements
	parser.KeepClasses = true // classes contain the language of code
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
	restoreLevels(found.Node)
	return found.Node, found.Title(), true
}

// parseURL parses an absolute URL. It returns nil for anything else.
func parseURL(raw string) *url.URL {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || !u.IsAbs() || u.Opaque != "" {
		return nil
	}
	return u
}
