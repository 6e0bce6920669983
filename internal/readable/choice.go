package readable

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The limits of isMainContent, in percent of the text that could be main
// content and in letters. Measured over the 133 test pages of Readability and
// over lists, shops, dashboards and sign-in pages (those in the tests):
//
//   - Of the articles that do not look like one, all have a share of 95 or
//     more; of the other pages that have such a share, all of the text is
//     wanted, and taken.
//   - Of the articles that look like one, the smallest share is 18 (the rest
//     are comments and teasers), the shortest with a share under 80 has 687
//     letters. What is shorter is the one paragraph of a page of links.
const (
	sureShare  = 80
	leastShare = 10
	leastFound = 600
)

// isMainContent decides whether found letters of all that could be main
// content are what the page is about. looksLikeArticle is Readability's own
// guess from the paragraphs of the page.
func isMainContent(found, all int, looksLikeArticle bool) bool {
	share := 100 * found / max(all, 1)
	switch {
	case found == 0:
		return false
	case share >= sureShare:
		return true
	default:
		return looksLikeArticle && found >= leastFound && share >= leastShare
	}
}

// contentLength counts the text that could be main content: all but
// navigation, headers, footers and asides of the page.
func (p *page) contentLength() int {
	all := textLength(p.root)
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := range n.ChildNodes() {
			switch c.DataAtom {
			case atom.Nav, atom.Footer, atom.Aside, atom.Header:
				all -= textLength(c)
				continue
			}
			walk(c)
		}
	}
	walk(p.root)
	return all
}
