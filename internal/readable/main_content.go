package readable

import (
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The limits of isMainContent, in percent of the text that could be main content and in letters.
// They were measured on the 133 test pages of Readability and on lists, shops, dashboards and
// sign-in pages (those in the tests):
//
//   - Articles that do not look like one all have a share of at least 95. Other pages with such a
//     share are wanted completely, and are returned so.
//   - Among articles that look like one, the smallest share is 18 (the rest are comments and
//     teasers), and the shortest with a share under 80 has 687 letters. Shorter text is the only
//     paragraph of a page of links.
const (
	sureShare  = 80
	leastShare = 10
	leastFound = 600
)

// isMainContent reports whether found letters, of all letters that could be main content, are the
// main content of the page. looksLikeArticle is Readability's own guess from the paragraphs of the
// page.
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

// contentLength counts the text that could be main content: everything except navigation, headers,
// footers and asides of the page.
func (p *page) contentLength() int {
	all := textLength(p.root)
	for _, n := range outermost(p.root, func(n *html.Node) bool {
		return slices.Contains([]atom.Atom{atom.Nav, atom.Footer, atom.Aside, atom.Header}, n.DataAtom)
	}) {
		all -= textLength(n)
	}
	return all
}
