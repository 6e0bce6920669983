package outline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Clean prepares page text for one line: it collapses white space and removes what users cannot
// see, so that a page cannot address a model with hidden text. It removes control characters and
// ANSI escape sequences, bidi controls, zero-width characters (except the joiner inside an emoji),
// tag characters, repeated variation selectors, and private-use characters. Invalid UTF-8 becomes
// U+FFFD.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	prev := rune(0)
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == 0x1b || r == 0x9b:
			s = s[ansiLen(s, r == 0x9b):]
			continue
		case unicode.IsSpace(r) || r == 0x2028 || r == 0x2029 || r == 0x0085:
			space = b.Len() > 0
			continue
		case r == 0x200d:
			if after, _ := utf8.DecodeRuneInString(s); !isEmoji(prev) || !isEmoji(after) {
				continue
			}
		case r == 0xfe0f || r == 0xfe0e:
			// One variation selector after a visible character is legitimate.
			if prev == 0 || prev == r {
				continue
			}
		case invisible(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		prev = r
	}
	return b.String()
}

// cleanLines is Clean for the value of a text field: it retains line breaks.
func cleanLines(s string) string {
	if !strings.Contains(s, "\n") {
		return Clean(s)
	}
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, `\n`)
}

// isPlain reports whether s is ASCII that Clean would not change.
func isPlain(s string) bool {
	space := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || (c == ' ' && space) {
			return false
		}
		space = c == ' '
	}
	return !space || s == ""
}

// ansiLen returns the number of bytes of s that belong to the escape sequence before it.
func ansiLen(s string, csi bool) int {
	i := 0
	if !csi {
		switch {
		case strings.HasPrefix(s, "["):
			i = 1
		case strings.HasPrefix(s, "]"):
			if end := strings.IndexAny(s, "\a\x1b"); end >= 0 && end < 256 {
				return end + 1
			}
			return 1
		default:
			return 0
		}
	}
	for j := i; j < len(s) && j < 64; j++ {
		if s[j] >= 0x40 && s[j] <= 0x7e {
			return j + 1
		}
		if s[j] < 0x20 || s[j] > 0x7e {
			break
		}
	}
	return i
}

func isEmoji(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff
}

// invisible reports whether r draws nothing, or changes how other characters are drawn.
func invisible(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0x00ad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0d, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb:
		return true
	case r >= 0xe0000 && r <= 0xe0fff, r >= 0xf0000, r >= 0xe000 && r <= 0xf8ff, r == 0x1d159, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
		return true
	}
	return unicode.Is(unicode.Cf, r) && r != 0x200d && !unicode.Is(unicode.Arabic, r) && !(r >= 0x0600 && r <= 0x08ff)
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
