package readable

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A heading is a heading of a page.
type heading struct {
	text  string
	level int // 1 or 2; 0 if the page has none
}

// titleHeading returns the heading that the search for the main content may remove because it equals
// the title: the first h1, or, on a page without h1, the first h2 that is part of the title.
func (p *page) titleHeading() heading {
	title := p.title()
	var found heading
	for n := range p.root.Descendants() {
		text := func() string { return strings.Join(strings.Fields(text(n)), " ") }
		switch n.DataAtom {
		case atom.H1:
			if s := text(); s != "" {
				return heading{s, 1}
			}
		case atom.H2:
			if found.level == 0 {
				if s := text(); isPart(s, title) {
					found = heading{s, 2}
				}
			}
		}
	}
	return found
}

// isPart reports whether one of two texts contains the other. It compares letters and digits.
func isPart(a, b string) bool {
	a, b = letters(a), letters(b)
	return a != "" && b != "" && (strings.Contains(a, b) || strings.Contains(b, a))
}

// levelAttr is an attribute of the h1 of a page during the search for the main content, which
// changes all of them to h2.
const levelAttr = "data-heading-level"

// markLevels marks the headings of p for restoreLevels.
func (p *page) markLevels() {
	for n := range p.root.Descendants() {
		switch n.DataAtom {
		case atom.H1:
			setAttr(n, levelAttr, "1")
		case atom.H2:
			n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == levelAttr })
		}
	}
}

// restoreLevels gives the headings in n the levels that they had when markLevels was called.
func restoreLevels(n *html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == "h2" && attr(d, levelAttr) == "1" {
			d.Data, d.DataAtom = "h1", atom.H1
		}
	}
}

// withHeading puts the heading of the page with a title before the text if the search for the main
// content removed it.
func withHeading(md string, h heading, title string) string {
	if h.level == 0 || len(h.text) > 300 {
		return md
	}
	// Compare letters only, because the converter adds escapes and emphasis.
	start := md[:min(len(md), 2000+2*len(h.text))]
	if strings.Contains(letters(start), letters(h.text)) {
		return md
	}
	if !isPart(h.text, title) && (strings.HasPrefix(md, "# ") || strings.Contains(md, "\n# ")) {
		return md // the main content has its own; h is that of the site
	}
	n := &html.Node{Type: html.ElementNode, Data: "h1", DataAtom: atom.H1}
	if h.level == 2 {
		n.Data, n.DataAtom = "h2", atom.H2
	}
	n.AppendChild(&html.Node{Type: html.TextNode, Data: h.text})
	first, err := toMarkdown(n)
	if err != nil || first == "" {
		return md
	}
	return first + "\n\n" + md
}

// letters returns the letters and digits of s in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
