package secrets

import (
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// A Part is a part of a text with placeholders: literal text, or the placeholder of a field.
type Part struct {
	Text        string // as written; a placeholder includes its braces
	Name, Field string // empty for literal text
}

// placeholder matches {{name.field}} and an optional backslash before it.
var placeholder = lazyregexp.New(`\\?\{\{([a-z0-9][a-z0-9_-]{0,63})\.([a-z0-9][a-z0-9_-]{0,63})\}\}`)

// Parse divides a text into literal text and placeholders of the form {{name.field}}. A backslash
// before a placeholder is removed and makes it literal text. Other braces are literal text.
func Parse(text string) []Part {
	if !strings.Contains(text, "{{") {
		return []Part{{Text: text}}
	}
	var parts []Part
	literal := func(s string) {
		if n := len(parts); n > 0 && parts[n-1].Name == "" {
			parts[n-1].Text += s
		} else if s != "" {
			parts = append(parts, Part{Text: s})
		}
	}
	end := 0
	for _, m := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		literal(text[end:m[0]])
		end = m[1]
		if text[m[0]] == '\\' {
			literal(text[m[0]+1 : m[1]])
			continue
		}
		parts = append(parts, Part{Text: text[m[0]:m[1]], Name: text[m[2]:m[3]], Field: text[m[4]:m[5]]})
	}
	literal(text[end:])
	if parts == nil {
		parts = []Part{{}}
	}
	return parts
}
