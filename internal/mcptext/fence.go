package mcptext

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A Fence marks text that comes from a page with a nonce of the session. A page cannot close the
// fence early and pass off its text as text of the server.
type Fence struct{ Nonce string }

// nonceLen is the length of a nonce, in characters of 5 bits. A nonce need not be unguessable,
// because a text is never fenced with a nonce that it contains.
const nonceLen = 6

// NewFence returns a fence with the given nonce, or a random one.
func NewFence(nonce string) Fence {
	if nonce == "" {
		nonce = strings.ToLower(rand.Text()[:nonceLen])
	}
	return Fence{nonce}
}

// Wrap returns text, cleaned, between two marker lines. The first names the origin of the text. The
// nonce in the markers does not occur in the text.
func (f Fence) Wrap(origin, text string) string {
	text = strings.TrimRight(Clean(text), "\n")
	nonce := f.nonceNotIn(text)
	if origin == "" {
		origin = "blank"
	}
	return fmt.Sprintf("<page %s %s>\n%s\n</page %s>", nonce, EscapeURL(pagetext.Truncate(origin, MaxURL)), text, nonce)
}

// nonceNotIn returns the session's nonce, or a derived one if text contains it. The comparison
// ignores case.
func (f Fence) nonceNotIn(text string) string {
	nonce, folded := f.Nonce, strings.ToLower(text)
	for strings.Contains(folded, nonce) {
		sum := sha256.Sum256([]byte(nonce + text))
		nonce = strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:nonceLen]
	}
	return nonce
}

// Quote returns page text cleaned, truncated to limit characters and in double quotes, on one line.
func Quote(s string, limit int) Own {
	s = Clean(s)
	var b strings.Builder
	b.WriteByte('"')
	n := 0
	for _, r := range s {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return Own(b.String())
}

// QuoteShort returns s quoted and truncated, for an error text.
func QuoteShort(s string) string { return string(Quote(s, 60)) }

// MaxURL is the maximum length of a URL in the text, in bytes.
const MaxURL = 2000

// EscapeURL returns u truncated to MaxURL bytes, with characters percent-encoded that could make it
// look like other text: spaces, controls, quotes, angle brackets and invisible characters.
func EscapeURL(u string) string {
	var b strings.Builder
	for i, r := range u {
		if i > MaxURL {
			b.WriteString("…")
			break
		}
		_, size := utf8.DecodeRuneInString(u[i:])
		if r > ' ' && r != 0x7f && r != '"' && r != '<' && r != '>' && !invisible(r) && !unicode.IsSpace(r) &&
			!unicode.IsControl(r) && (r != utf8.RuneError || size > 1) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(u[i : i+size]) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Clean returns s without characters that are invisible to a person but not to a model: terminal
// escapes, control characters and invisible Unicode. It keeps a zero-width joiner inside an emoji,
// and one variation selector (text or emoji style) after a character. All line terminators become
// newlines.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	prev := '\n'      // the last character written
	unterminated := 0 // no escape string that begins before this index is terminated
	write := func(r rune) {
		b.WriteRune(r)
		prev = r
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0x1b || r == 0x9b || r == 0x9d {
			length, searched := escapeLen(s[i:], size, i < unterminated)
			unterminated = max(unterminated, i+searched)
			i += length
			continue
		}
		i += size
		switch {
		case r == '\r':
			if !strings.HasPrefix(s[i:], "\n") {
				write('\n')
			}
		case r == '\u2028' || r == '\u2029' || r == '\u0085':
			write('\n')
		case r == 0x200d: // zero-width joiner
			if next, _ := utf8.DecodeRuneInString(s[i:]); emoji(prev) && emoji(next) {
				write(r)
			}
		case r == 0xfe0e || r == 0xfe0f: // text and emoji style
			if !unicode.IsSpace(prev) && prev != 0x200d && prev != 0xfe0e && prev != 0xfe0f {
				write(r)
			}
		case r == '\n' || r == '\t' || (!unicode.IsControl(r) && !invisible(r)):
			write(r) // invalid UTF-8 becomes U+FFFD
		}
	}
	return b.String()
}

// emoji reports whether r can be next to a joiner in an emoji.
func emoji(r rune) bool {
	return (r >= 0x1f000 && r <= 0x1faff) || (r >= 0x2190 && r <= 0x2bff) || r == 0xfe0f
}

// isPlain reports whether s has only printable ASCII, newlines and tabs.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// invisible reports whether r is invisible: a tag, bidirectional control, zero-width character,
// variation selector or filler.
func invisible(r rune) bool {
	return r >= 0x7f && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// escapeLen returns the length of the terminal escape sequence at the start of s, whose introducer
// is size bytes long. If the sequence has an invalid character or is not terminated, the length is
// that of the introducer.
//
// If a string sequence is not terminated, searched is the number of bytes that escapeLen searched.
// String sequences that begin in these bytes are not terminated either. The caller passes
// unterminated for them, so that the time stays linear even if a page has a million of them.
func escapeLen(s string, size int, unterminated bool) (length, searched int) {
	kind, at := s[0], size
	if kind == 0x1b {
		if len(s) < 2 {
			return 1, 0
		}
		kind, at = s[1], 2
	} else if r, _ := utf8.DecodeRuneInString(s); r == 0x9b {
		kind = '['
	} else {
		kind = ']'
	}
	switch kind {
	case '[': // CSI: parameters, then one final byte
		for i := at; i < len(s); i++ {
			switch c := s[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1, 0
			case c < 0x20 || c > 0x3f:
				return at, 0
			}
		}
		return at, 0
	case ']', 'P', '^', '_': // strings, terminated by BEL or ESC \
		if unterminated {
			return at, 0
		}
		i := at
		for ; i < len(s) && s[i] != '\n'; i++ {
			if s[i] == 0x07 {
				return i + 1, 0
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2, 0
			}
		}
		return at, i
	}
	if kind >= 0x20 && kind <= 0x7e {
		return 2, 0
	}
	return 1, 0
}

// controlEscapes are the JSON escapes of the characters that Clean removes.
var controlEscapes = [][]byte{[]byte(`\u`), []byte(`\r`), []byte(`\b`), []byte(`\f`)}

// CleanJSON returns raw with every string in it cleaned.
func CleanJSON(raw []byte) []byte {
	// In JSON a control character is always escaped. The other characters that Clean removes are
	// not ASCII.
	if isPlain(string(raw)) && !slices.ContainsFunc(controlEscapes, func(e []byte) bool { return bytes.Contains(raw, e) }) {
		return raw
	}
	return pagetext.RewriteJSON(raw, CleanValue)
}

func CleanValue(v any) any { return pagetext.MapTexts(v, Clean) }
