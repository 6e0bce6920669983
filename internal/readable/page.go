package readable

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A page is parsed markup without invisible elements. Its URLs are absolute.
type page struct {
	root *html.Node
	base *url.URL // nil if unknown
}

// parsePage parses markup. It returns an error if elements are nested too deeply.
func parsePage(markup, pageURL string) (*page, error) {
	root, err := html.Parse(strings.NewReader(markup))
	if err != nil {
		return nil, err
	}
	p := &page{root: root, base: baseURL(root, parseURL(pageURL))}
	p.dropInvisible()
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode: // before markdown's own backslashes are added
			n.Data = withoutEscapes(n.Data)
		case n.DataAtom == atom.Pre:
			markLanguage(n)
		}
	}
	p.cleanURLs()
	return p, nil
}

// title returns the content of the page's <title>.
func (p *page) title() string {
	for n := range p.root.Descendants() {
		// SVG also has <title> elements.
		if n.DataAtom == atom.Title && n.Namespace == "" {
			return strings.Join(strings.Fields(text(n)), " ")
		}
	}
	return ""
}

// remove removes each element for which unwanted is true, with its children.
func (p *page) remove(unwanted func(*html.Node) bool) {
	for _, n := range outermost(p.root, unwanted) {
		n.Parent.RemoveChild(n)
	}
}

// outermost returns the elements in n for which matches is true, except those inside another one.
func outermost(n *html.Node, matches func(*html.Node) bool) (found []*html.Node) {
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && matches(c) {
				found = append(found, c)
				continue
			}
			walk(c)
		}
	}
	walk(n)
	return found
}

// text returns the text in n, unchanged.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// textLength returns the number of bytes of the text in n, without white space and scripts.
func textLength(n *html.Node) int {
	total := 0
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !isCode(d.Parent) {
			for _, word := range strings.Fields(d.Data) {
				total += len(word)
			}
		}
	}
	return total
}

// isCode reports whether the text of n is not intended for readers.
func isCode(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Title:
		return true
	}
	return false
}

func attr(n *html.Node, key string) string {
	v, _ := lookup(n, key)
	return v
}

func lookup(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}

func setAttr(n *html.Node, key, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == key && n.Attr[i].Namespace == "" {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: key, Val: value})
}
