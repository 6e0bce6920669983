package urlglob

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// TestCompile checks that * matches any sequence of characters and that no other character is
// special, even if it is in other globs.
func TestCompile(t *testing.T) {
	for _, test := range []struct {
		pattern, url string
		want         bool
	}{
		{"https://a.test/", "https://a.test/", true},
		{"https://a.test/", "https://a.test/x", false},
		{"https://a.test/*", "https://a.test/", true},
		{"https://a.test/*", "https://a.test/x/y?z#f", true},
		{"*/done", "https://a.test/order/done", true},
		{"*/done", "https://a.test/order/done/", false},
		{"*.test/*", "https://a.test/x", true},
		{"**", "", true},
		{"*a***b*", "xaxbx", true},
		{"", "", true},
		{"", "x", false},
		{"*?page=1", "https://a.test/list?page=1", true},
		{"*?page=1", "https://a.test/listXpage=1", false},
		{"*[1]", "https://a.test/x[1]", true},
		{"*[1]", "https://a.test/x1", false},
		{"*{a,b}", "https://a.test/{a,b}", true},
		{"*{a,b}", "https://a.test/a", false},
		{`*\x`, `https://a.test/\x`, true},
		{`*\x`, "https://a.test/x", false},
		{`*\*`, `https://a.test/\anything`, true},
		{`*\*`, "https://a.test/*", false},
		{"*!x", "https://a.test/!x", true},
		{"[!a]", "b", false},
		{"*日*", "https://a.test/日本", true},
	} {
		g, err := Compile(test.pattern)
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
			continue
		}
		if got := g.Match(test.url); got != test.want {
			t.Errorf("%q on %q: %t, want %t", test.pattern, test.url, got, test.want)
		}
	}
}

// TestMatchHostile matches patterns that take hours if more than one occurrence of each part is tried.
func TestMatchHostile(t *testing.T) {
	many := func(n int) string { return strings.Repeat("a", n) }
	url := "https://a.test/" + many(2<<20)
	for _, pattern := range []string{
		"*" + many(1<<20) + "*" + many(1<<19) + "b*",
		strings.Repeat("*a", 1<<20) + "*b*",
		strings.Repeat("*aa", 1<<19) + "*b*a",
	} {
		g, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if g.Match(url) {
			t.Errorf("%.20q… matches a URL without b", pattern)
		}
	}
}

// stars is a reference implementation of Compile that tries every sequence.
func stars(pattern, s string) bool {
	lead, rest, found := strings.Cut(pattern, "*")
	if !strings.HasPrefix(s, lead) {
		return false
	}
	s = s[len(lead):]
	if !found {
		return s == ""
	}
	for i := range len(s) + 1 {
		if stars(rest, s[i:]) {
			return true
		}
	}
	return false
}

func FuzzCompile(f *testing.F) {
	f.Add("*[a]*", "x[a]")
	f.Add("a*b*c", "a1b2c")
	f.Add(`\*{`, `\x{`)
	f.Add("*?", "?")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 12 || len(s) > 24 || !utf8.ValidString(s) {
			return // stars is slow, and the browser's URLs are valid UTF-8
		}
		g, err := Compile(pattern)
		if !utf8.ValidString(pattern) && errs.CodeOf(err) == errs.ErrBadArgs {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if got, want := g.Match(s), stars(pattern, s); got != want {
			t.Fatalf("%q on %q: %t, want %t", pattern, s, got, want)
		}
	})
}
