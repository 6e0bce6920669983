package outline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// numbered returns n lines with a word and a number from 1.
func numbered(format string, n int) string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(format, i+1)
	}
	return strings.Join(lines, "\n")
}

// shop returns a page with a select that has n options.
func shop(t *testing.T, n int) *outline.Document {
	doc := parse(t, "d", "combobox \"Town\" #1 =none\nbutton \"Save\" #2\ntext \"the end\"")
	doc.Node(1).Options, doc.Node(1).OptionCount = numbered("Town no. %d", n), n
	return doc
}

func TestLongListsCostTenOptions(t *testing.T) {
	want(t, render(t, shop(t, 5000), outline.Options{}).Text, `
- page "T" http://test/
  - combobox "Town" [ref=e1]: none
    - options: Town no. 1 | Town no. 2 | Town no. 3 | Town no. 4 | Town no. 5 | Town no. 6 | Town no. 7 | Town no. 8 | Town no. 9 | Town no. 10 | … 4990 more
  - button "Save" [ref=e2]
  - text: the end`)
	if r := render(t, shop(t, 5000), outline.Options{}); r.Truncated || r.Cut != 0 {
		t.Errorf("truncated %v, cut %d: the line says how many options there are", r.Truncated, r.Cut)
	}
	if text := render(t, shop(t, 5000), outline.Options{Part: true, MaxChars: 100_000}).Text; !strings.Contains(text, "Town no. 4999 | Town no. 5000\n") {
		t.Errorf("a part of the page: %.500s", text)
	}

	// A list of the page's own, of which the browser shows two options.
	list := parse(t, "d", "listbox \"Towns\" #9001\n"+strings.Replace(numbered("  option \"Town no. %[1]d\" #%[1]d", 5000), "#3000", "#3000 @v", 1)+"\ntext \"the end\"")
	r := render(t, list, outline.Options{})
	if n := strings.Count(r.Text, "option \""); n != 11 || r.NextOffset != 12 || !strings.Contains(r.Text, "… 2989 more options like this (offset=12)\n    - option \"Town no. 3000\"") || !strings.HasSuffix(r.Text, "text: the end\n") {
		t.Errorf("%d options, next offset %d:\n%s", n, r.NextOffset, r.Text)
	}
	if text := render(t, list, outline.Options{Offset: 12, MaxChars: 2000}).Text; !strings.Contains(text, `"Town no. 40"`) {
		t.Errorf("the options from the offset:\n%s", text)
	}
}

func TestFindReturnsMatchingOptions(t *testing.T) {
	for find, line := range map[string]string{
		"town no. 4321":         "options found: Town no. 4321\n",
		"/^Town no. 499[0-4]$/": "options found: Town no. 4990 | Town no. 4991 | Town no. 4992 | Town no. 4993 | Town no. 4994\n",
		"no. 12":                "options found: Town no. 12 | Town no. 120 | Town no. 121 | Town no. 122 | Town no. 123 | Town no. 124 | Town no. 125 | Town no. 126 | Town no. 127 | Town no. 128 | … 101 more\n",
	} {
		r := render(t, shop(t, 5000), outline.Options{Find: find})
		if !strings.HasSuffix(r.Text, "combobox \"Town\" [ref=e1]: none\n    - "+line) || r.Unsearched > 0 {
			t.Errorf("find %q:\n%s", find, r.Text)
		}
	}
	if r := render(t, shop(t, 5000), outline.Options{Find: "Village"}); r.Elements != 0 {
		t.Errorf("%d lines with an option that does not exist", r.Elements)
	}
}

func TestDiffShowsChangedOptions(t *testing.T) {
	after := shop(t, 5000)
	after.Node(1).Options = strings.Replace(after.Node(1).Options, "Town no. 4321", "Village", 1)
	c := outline.Diff(shop(t, 5000), after, outline.DiffOptions{})
	if c.Changed != 1 || !strings.Contains(c.Text, "| Village |") {
		t.Errorf("%+v", c)
	}
	if c := outline.Diff(after, after, outline.DiffOptions{}); !c.Empty() {
		t.Errorf("no change: %+v", c)
	}
}
