package readable

import (
	"strings"
	"sync"
	"unicode"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// markdown returns the converter. It is created on first use, so that programs that read no page do
// not pay for it at startup.
var markdown = sync.OnceValue(func() *converter.Converter {
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithListEndComment(false),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
		),
		table.NewTablePlugin(
			table.WithHeaderPromotion(true),
			table.WithSkipEmptyRows(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		),
		strikethrough.NewStrikethroughPlugin(),
	))
	c.Register.PostRenderer(escapeBrackets, converter.PriorityStandard+10) // before the library's own
	for _, name := range []string{"svg", "canvas", "audio", "video", "object", "embed", "template", "button", "select", "datalist"} {
		c.Register.TagType(name, converter.TagTypeRemove, converter.PriorityEarly)
	}
	return c
})

// escapeBrackets escapes brackets that may start a link: those with a closing bracket later in the
// line. For each such bracket, the library searches the line again, which can take hours.
func escapeBrackets(_ converter.Context, text []byte) []byte {
	closed, start := false, len(text)
	for i := len(text) - 1; i >= 0; i-- {
		c := text[i]
		start--
		text[start] = c // start is always less than i
		switch c {
		case '\n':
			closed = false
		case ']':
			closed = true
		case '[':
			if i == 0 || text[i-1] != marker.BytesMarkerEscaping[0] {
				continue
			}
			if i--; closed {
				start--
				text[start] = '\\'
			}
		}
	}
	return text[start:]
}

// toMarkdown converts n and tidies the result.
func toMarkdown(n *html.Node) (string, error) {
	out, err := markdown().ConvertNode(n)
	if err != nil {
		return "", err
	}
	return tidy(string(out)), nil
}

// escapes matches the terminal sequences that set colors or titles.
var escapes = lazyregexp.New(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)`)

// withoutEscapes removes terminal sequences from a text completely, not only their invisible first
// character.
func withoutEscapes(s string) string {
	if !strings.ContainsAny(s, "\x1b\u009b") {
		return s
	}
	return escapes().ReplaceAllString(s, "")
}

// tidy removes what readers do not see: terminal sequences, control characters, invisible and
// bidirectional formatting, and white space at the ends of lines and of the text. Two spaces at the
// end of a line are a line break and remain.
func tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200d': // emoji contain the joiner
			return r
		case r == '\u00a0' || r == '\u2028' || r == '\u2029':
			return ' '
		case r == '\u200c': // Persian spelling uses the non-joiner
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\ufffd':
			return -1
		}
		return r
	}, withoutEscapes(s))
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.SplitSeq(s, "\n") {
		trimmed := strings.TrimRight(line, " \t")
		if trimmed == "" {
			b.WriteByte('\n')
			continue
		}
		b.WriteString(trimmed)
		if strings.HasSuffix(line, "  ") {
			b.WriteString("  ")
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}
