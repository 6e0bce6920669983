package outline

import (
	"strings"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// cleanLines is [pagetext.Clean] for the value of a text field: it retains line breaks.
func cleanLines(s string) string {
	if !strings.Contains(s, "\n") {
		return pagetext.Clean(s)
	}
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = pagetext.Clean(line)
	}
	return strings.Join(lines, `\n`)
}

// quote writes s as a quoted name.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	b.WriteString(strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`))
	b.WriteByte('"')
}

// plain writes s as the rest of a line. It escapes what could be mistaken for the outline's own
// syntax with a backslash: a ref anywhere, and at the start a dash, quote, bracket or the mark of
// omitted lines.
func plain(b *strings.Builder, s string) {
	first, _ := utf8.DecodeRuneInString(s)
	if strings.ContainsRune(`-"['…`, first) && !strings.HasPrefix(s, "[ref=") {
		b.WriteByte('\\')
	}
	b.WriteString(strings.ReplaceAll(s, "[ref=", `\[ref=`))
}

// shorten truncates s to at most limit runes.
func shorten(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return pagetext.First(s, limit-1) + "…"
}
