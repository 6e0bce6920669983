package mcp

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A fence marks text that comes from a page, by a nonce of the session, so
// that a page cannot end its own text early and speak as the server.
type fence struct{ nonce string }

// nonceLen is the length of a nonce, in characters of 5 bits. It need not be
// beyond guessing, since a nonce that the text contains is not used for it.
const nonceLen = 6

// newFence returns a fence with the given nonce, or a random one.
func newFence(nonce string) fence {
	if nonce == "" {
		nonce = strings.ToLower(rand.Text()[:nonceLen])
	}
	return fence{nonce}
}

// wrap cleans text and returns it between two lines that name the origin it
// came from. The nonce in them is not in the text.
func (f fence) wrap(origin, text string) string {
	text = strings.TrimRight(clean(text), "\n")
	nonce := f.absentFrom(text)
	if origin == "" {
		origin = "blank"
	}
	return fmt.Sprintf("<page %s %s>\n%s\n</page %s>", nonce, escapeURL(ended(origin, maxURL)), text, nonce)
}

// absentFrom returns the session's nonce, or one derived from it that is not
// in text, in whatever case.
func (f fence) absentFrom(text string) string {
	nonce, folded := f.nonce, strings.ToLower(text)
	for strings.Contains(folded, nonce) {
		sum := sha256.Sum256([]byte(nonce + text))
		nonce = strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:nonceLen]
	}
	return nonce
}

// quote cleans a small piece of page text and puts it in double quotes, on
// one line, cut to limit characters.
func quote(s string, limit int) own {
	s = clean(s)
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
	return own(b.String())
}

// maxURL is how many bytes of a URL are shown.
const maxURL = 2000

// escapeURL returns u with what could pass for other text percent-encoded:
// spaces, controls, quotes, angle brackets and invisible characters.
func escapeURL(u string) string {
	var b strings.Builder
	for i, r := range u {
		if i > maxURL {
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

// clean returns s without what a person would not see but a model might read:
// terminal escapes, control characters, invisible Unicode. The joiner inside
// an emoji stays, and one selector after a character that says how to draw it.
// Line ends become newlines.
func clean(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	prev := '\n' // what was written last
	unended := 0 // no string of an escape sequence that begins before here ends
	write := func(r rune) {
		b.WriteRune(r)
		prev = r
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0x1b || r == 0x9b || r == 0x9d {
			length, searched := escapeLen(s[i:], size, i < unended)
			unended = max(unended, i+searched)
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
			write(r) // invalid UTF-8 as U+FFFD
		}
	}
	return b.String()
}

// emoji reports whether r can stand beside a joiner in an emoji.
func emoji(r rune) bool {
	return (r >= 0x1f000 && r <= 0x1faff) || (r >= 0x2190 && r <= 0x2bff) || r == 0xfe0f
}

// isPlain reports whether s is printable ASCII with newlines and tabs.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// invisible reports whether r shows nothing: tags, bidirectional controls,
// zero-width characters, variation selectors, fillers.
func invisible(r rune) bool {
	return r >= 0x7f && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// escapeLen returns the length of the terminal escape sequence at the start
// of s, whose introducer is size bytes long. A sequence that does not end
// within its own kind of characters is only its introducer. Where a
// string does not end, searched is how far that was looked for. Strings that
// begin before there do not end either, and are to be called unended, since a
// page may begin a million of them.
func escapeLen(s string, size int, unended bool) (length, searched int) {
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
	case ']', 'P', '^', '_': // strings, ended by BEL or ESC \
		if unended {
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

// controlEscapes are how JSON writes the characters that clean looks for.
var controlEscapes = [][]byte{[]byte(`\u`), []byte(`\r`), []byte(`\b`), []byte(`\f`)}

// cleanJSON returns raw with every string in it cleaned.
func cleanJSON(raw []byte) []byte {
	// In JSON a control character is always escaped; nothing else that clean
	// takes out is ASCII.
	if isPlain(string(raw)) && !slices.ContainsFunc(controlEscapes, func(e []byte) bool { return bytes.Contains(raw, e) }) {
		return raw
	}
	return rewriteJSON(raw, cleanValue)
}

// rewriteJSON returns raw with its value replaced by what f returns for it. Numbers
// keep their digits. If raw is not JSON, rewriteJSON returns it unchanged.
func rewriteJSON(raw []byte, f func(any) any) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(f(v)) != nil {
		return raw
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		cleaned := make(map[string]any, len(v))
		for k, e := range v {
			cleaned[clean(k)] = cleanValue(e)
		}
		return cleaned
	}
	return v
}
