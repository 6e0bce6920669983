package reading

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		s           string
		offset, max int
		want        string
		next        int
	}{
		{"", 0, 5, "", 0},
		{"abc", 0, 3, "abc", 0},
		{"abcd", 0, 3, "abc", 3},
		{"abcd", 3, 3, "d", 0},
		{"abcd", 4, 3, "", 0},
		{"abcd", 9, 3, "", 0},
		{"abcd", -2, 3, "abc", 3},
		{"日本語テスト", 2, 3, "語テス", 5},
		{"a😀b", 1, 1, "😀", 2},
	} {
		if got, next := cut(test.s, test.offset, test.max, unmasked); got != test.want || next != test.next {
			t.Errorf("cut(%q, %d, %d) = %q, %d, want %q, %d", test.s, test.offset, test.max, got, next, test.want, test.next)
		}
	}
	long := strings.Repeat("é", executor.DefaultMaxChars+1)
	if got, next := cut(long, 0, 0, unmasked); utf8.RuneCountInString(got) != executor.DefaultMaxChars || next != executor.DefaultMaxChars {
		t.Errorf("without a maximum: %d characters, next offset %d", utf8.RuneCountInString(got), next)
	}
}

// FuzzCut reads a text chunk by chunk. The chunks must add up to the text, and no chunk may be too
// long or end inside a character.
func FuzzCut(f *testing.F) {
	f.Add("a日😀\xffb", 2)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max = 1 + (max&0xff)%7
		var b strings.Builder
		for offset := 0; ; {
			chunk, next := cut(s, offset, max, unmasked)
			if n := utf8.RuneCountInString(chunk); n > max {
				t.Fatalf("%d characters at %d, want at most %d", n, offset, max)
			}
			if utf8.ValidString(s) && !utf8.ValidString(chunk) {
				t.Fatalf("%q at %d of %q splits a character", chunk, offset, s)
			}
			b.WriteString(chunk)
			if next == 0 {
				break
			}
			if next <= offset {
				t.Fatalf("next offset after %d is %d", offset, next)
			}
			offset = next
		}
		if b.String() != s {
			t.Fatalf("the chunks of %q add up to %q", s, b.String())
		}
	})
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"one\ntwo":                "one",
		strings.Repeat("é", 300):  strings.Repeat("é", 300),
		strings.Repeat("é", 301):  strings.Repeat("é", 300) + "…",
		"Error: x\n    at <anon>": "Error: x",
	} {
		if got := pagetext.FirstLine(in); got != want {
			t.Errorf("%.20q: got %.40q", in, got)
		}
	}
}

// unmasked is the function for cut if nothing is masked.
func unmasked(_ string, start, end int) (int, int) { return start, end }

func TestURLGlobs(t *testing.T) {
	list, err := urlGlobs([]string{"*/a", "*/b"})
	if err != nil || len(list) != 2 {
		t.Fatalf("got %d, %v", len(list), err)
	}
	for url, want := range map[string]bool{"https://x.test/a": true, "https://x.test/b": true, "https://x.test/c": false} {
		if got := anyMatch(list, url); got != want {
			t.Errorf("%s: %t, want %t", url, got, want)
		}
	}
	if anyMatch(nil, "https://x.test/") {
		t.Error("an empty list of patterns matched")
	}
}
