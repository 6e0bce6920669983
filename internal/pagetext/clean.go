package pagetext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Clean prepares page text for one line: it collapses white space, composes characters (Unicode
// normalization form C), and removes what users cannot see, so that a page cannot address a model
// with hidden text. It removes control characters and ANSI escape sequences, bidi controls,
// zero-width characters (except the joiner inside an emoji), tag characters, repeated variation
// selectors, and private-use characters. Invalid UTF-8 becomes U+FFFD.
func Clean(s string) string { return clean(s, false) }

// Fold returns the form of s in which the texts that a user cannot distinguish are equal strings:
// that of [Clean], without any joiner and variation selector. It is foldText of the page scripts
// (js/same_text.js).
func Fold(s string) string { return clean(s, true) }

// FoldCase is [Fold], and ignores case.
func FoldCase(s string) string {
	s = strings.ToLower(Fold(s))
	if isPlain(s) {
		return s
	}
	return foldedLetters.Replace(s)
}

// foldedLetters are the lower-case letters that have several forms.
var foldedLetters = strings.NewReplacer("ς", "σ", "ß", "ss", "i\u0307", "i")

// Index returns the start and end of the first part of s, a text that [Clean] returned, that is the
// same text as want, a text that [FoldCase] returned, or -1 and -1. It ignores case.
func Index(s, want string) (start, end int) {
	at := strings.Index(FoldCase(s), want)
	if at < 0 {
		return -1, -1
	}
	if isPlain(s) {
		return at, at + len(want)
	}
	start, folded := len(s), 0 // bytes of the folded form before the next character
	prev := rune(0)
	for i, r := range s {
		if folded >= at+len(want) && i > start {
			return start, i
		}
		lower := unicode.ToLower(r)
		if n := foldedLen(lower, prev); n > 0 {
			if folded += n; folded > at {
				start = min(start, i)
			}
		}
		prev = lower
	}
	return start, len(s)
}

// foldedLen returns the number of bytes of a lower-case character of a clean text in its folded form.
// prev is the character before it.
func foldedLen(r, prev rune) int {
	switch {
	case r == 0x200d, r == 0xfe0e, r == 0xfe0f, r == 0x0307 && prev == 'i':
		return 0
	}
	return utf8.RuneLen(r) // that of ß is the length of ss
}

func clean(s string, folded bool) string {
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
			if after, _ := utf8.DecodeRuneInString(s); folded || !isEmoji(prev) || !isEmoji(after) {
				continue
			}
		case r == 0xfe0f || r == 0xfe0e:
			// One variation selector after a visible character is legitimate.
			if folded || prev == 0 || prev == r {
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
	// Package norm marks every 30 combining characters.
	return strings.ReplaceAll(norm.NFC.String(b.String()), "\u034f", "")
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
	case r >= 0xe0000 && r <= 0xe0fff, r >= 0xf0000, r >= 0xe000 && r <= 0xf8ff, r == 0x1d159, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a, r >= 0x13430 && r <= 0x1343f:
		return true
	}
	return false
}
