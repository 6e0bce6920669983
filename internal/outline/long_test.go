package outline_test

import (
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// longText returns a text of n words after a prefix, one of which is unique.
func longText(n int) string {
	return strings.Repeat("word ", n/2) + "KEYWORD " + strings.Repeat("more ", n/2) + "LAST"
}

func TestLongTextUsesRemainingBudget(t *testing.T) {
	doc := parse(t, "d", `text "`+longText(8000)+`"`)
	for _, c := range []struct {
		chars int
		whole bool
	}{{60_000, true}, {20_000, false}, {3000, false}} {
		r := render(t, doc, outline.Options{MaxChars: c.chars})
		if got := strings.HasSuffix(r.Text, " LAST\n"); got != c.whole || (r.Cut == 0) != c.whole || r.Truncated == c.whole {
			t.Errorf("%d characters: whole %v, cut %d, truncated %v, %d bytes", c.chars, got, r.Cut, r.Truncated, len(r.Text))
		}
		if c.chars == 20_000 && len(r.Text) < 17_000 {
			t.Errorf("%d bytes of %d", len(r.Text), c.chars)
		}
	}
}

func TestFindShowsMatchingPart(t *testing.T) {
	doc := parse(t, "d", `text "`+longText(8000)+`"`)
	for _, find := range []string{"keyword", "/K[E]YWORD/"} {
		if r := render(t, doc, outline.Options{Find: find, MaxChars: 4000}); !strings.Contains(r.Text, "KEYWORD") || !strings.Contains(r.Text, "text [characters 1") {
			t.Errorf("find %q:\n%.300s", find, r.Text)
		}
	}
	if r := render(t, doc, outline.Options{Find: "nowhere"}); r.Elements != 0 {
		t.Errorf("%d lines", r.Elements)
	}
}

func TestDiffShowsChangedPartOfLongText(t *testing.T) {
	before := longText(8000)
	for name, after := range map[string]string{
		"end": before + " NEWWORD", "middle": strings.Replace(before, "KEYWORD", "KEYWORD NEWWORD", 1), "start": "NEWWORD " + before,
	} {
		c := outline.Diff(parse(t, "d", `text "`+before+`"`), parse(t, "d", `text "`+after+`"`), outline.DiffOptions{})
		if c.Changed != 1 || !strings.Contains(c.Text, "NEWWORD") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := outline.Diff(parse(t, "d", `text "`+before+`"`), parse(t, "d", `text "`+strings.Replace(before, "LAST", "LESS", 1)+`"`), outline.DiffOptions{}); c.Changed != 1 || !strings.Contains(c.Text, "LESS") {
		t.Errorf("same length: %+v", c)
	}
	short := parse(t, "d", `text "`+before[:1500]+`"`)
	if c := outline.Diff(short, parse(t, "d", `text "`+before[:1500]+` NEWWORD"`), outline.DiffOptions{}); !strings.Contains(c.Text, "NEWWORD") {
		t.Errorf("text of default length: %+v", c)
	}
}
