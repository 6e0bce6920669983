package readable

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plainText returns the text of markup that is nested too deeply to build a tree.
func plainText(markup string) string {
	var b strings.Builder
	skip := atom.Atom(0) // the element whose text is skipped
	z := html.NewTokenizer(strings.NewReader(markup))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return tidy(squeeze(b.String()))
		case html.TextToken:
			if skip == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			switch a := atom.Lookup(name); a {
			case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Title, atom.Textarea:
				if skip == 0 {
					skip = a
				}
			default:
				breakLine(&b, a)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			if a == skip {
				skip = 0
			}
			breakLine(&b, a)
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			breakLine(&b, atom.Lookup(name))
		}
	}
}

// breakLine ends the line at block elements.
func breakLine(b *strings.Builder, a atom.Atom) {
	switch a {
	case atom.A, atom.B, atom.I, atom.Em, atom.Strong, atom.Span, atom.Code, atom.Small, atom.Sub, atom.Sup, atom.U, 0:
	default:
		b.WriteByte('\n')
	}
}

// squeeze collapses white space within lines and removes empty lines. Character references are
// already resolved.
func squeeze(s string) string {
	var lines []string
	for line := range strings.SplitSeq(html.UnescapeString(s), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n\n")
}
