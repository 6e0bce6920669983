// Package fieldvalue compares the value that a field shows with the text that was entered into it, which
// the page may have reformatted.
package fieldvalue

import (
	"slices"
	"strings"
	"unicode"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Matches reports whether got is want, possibly reformatted by the page: with other case,
// punctuation, text around it, or its parts in another order, as in a date.
func Matches(got, want string) bool {
	significant := func(s string) []rune {
		return slices.DeleteFunc([]rune(pagetext.FoldCase(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	g, w := significant(got), significant(want)
	if len(w) == 0 {
		return strings.TrimSpace(got) == strings.TrimSpace(want) || strings.TrimSpace(want) != "" && strings.Contains(got, strings.TrimSpace(want))
	}
	rest := w
	for _, r := range g {
		if len(rest) > 0 && rest[0] == r {
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return true
	}
	slices.Sort(g)
	slices.Sort(w)
	return slices.Equal(g, w)
}

// SameText reports whether two values are the same text with the same white space.
func SameText(got, want string) bool {
	spaces := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
	}
	return pagetext.Fold(got) == pagetext.Fold(want) && slices.Equal(spaces(got), spaces(want))
}

// decimal matches an amount with a decimal fraction of one or two digits, such as $1,234.50 or 2,5.
// It captures the last digit before the fraction, and the fraction.
var decimal = lazyregexp.New(`^[^\d.,]*(?:[\d,'\s]*(\d)\.|[\d.'\s]*(\d),)(\d{1,2})\D*$`)

// KeepsFraction reports whether got separates the integer part and the fraction of the amount
// want. It returns true if want is not an amount with a decimal fraction.
func KeepsFraction(got, want string) bool {
	m := decimal().FindStringSubmatch(strings.TrimSpace(want))
	return m == nil || !strings.Contains(got, m[1]+m[2]+m[3])
}

// IsMask reports whether a value is what an empty field shows to describe its format, as in
// "+1 (___) ___-____" or "mm/dd/yyyy", or nothing.
func IsMask(value string) bool {
	blanks, others, words := 0, 0, 0
	repeated := true // others are letters, and each word is one of them, repeated
	var last rune
	for _, r := range value {
		r = unicode.ToLower(r)
		switch {
		case r == '_':
			blanks++
		case unicode.IsLetter(r):
			others++
			if !unicode.IsLetter(last) {
				words++
			} else if last != r {
				repeated = false
			}
		case unicode.IsDigit(r), unicode.IsSymbol(r) && r > unicode.MaxASCII: // such as an emoji
			others++
			repeated = false
		}
		last = r
	}
	return blanks > others || others == 0 || repeated && words > 1 && others >= 2*words
}

// IsFixedPart reports whether a value is the part of another one that its field always has: an
// amount of zero, as in "$ 0.00", or a prefix that ends with punctuation, as in "https://".
func IsFixedPart(value, old string) bool {
	isText := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if strings.ContainsAny(value, "0") && strings.TrimFunc(value, func(r rune) bool { return r == '0' || !isText(r) }) == "" {
		return strings.Trim(value, "0") != ""
	}
	prefix := strings.TrimRightFunc(value, func(r rune) bool { return !isText(r) })
	rest, found := strings.CutPrefix(old, prefix)
	return found && prefix != value && strings.ContainsFunc(rest, isText)
}
