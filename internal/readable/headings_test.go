package readable

import (
	"regexp"
	"strings"
	"testing"
)

var headingLines = regexp.MustCompile(`(?m)^#+ .*$`)

func TestHeadingLevels(t *testing.T) {
	text := "<p>" + strings.Repeat(sentence, 4) + "</p>"
	for _, tc := range []struct{ name, title, in, want string }{
		{"h1 with sections", "The lighthouse", "<h1>The lighthouse</h1>" + text + "<h2>By night</h2>" + text + "<h3>Winter</h3>" + text,
			"# The lighthouse|## By night|### Winter"},
		{"h1 unlike the title", "Coast News", "<h1>The keeper</h1>" + text + "<h2>By night</h2>" + text, "# The keeper|## By night"},
		{"several h1", "Coast News", "<h1>The keeper</h1>" + text + "<h2>By night</h2>" + text + "<h1>The ships</h1>" + text + "<h2>By day</h2>" + text,
			"# The keeper|## By night|# The ships|## By day"},
		{"several h1, the first is the title", "The lighthouse", "<h1>The lighthouse</h1>" + text + "<h1>The ships</h1>" + text + "<h2>By day</h2>" + text,
			"# The lighthouse|# The ships|## By day"},
		{"from h2", "Coast News", "<h2>The keeper</h2>" + text + "<h3>By night</h3>" + text, "## The keeper|### By night"},
		{"from h2, which is the title", "The lighthouse - Coast News", "<h2>The lighthouse</h2>" + text + "<h3>By night</h3>" + text, "## The lighthouse|### By night"},
		{"skipped levels", "Coast News", "<h1>The keeper</h1>" + text + "<h4>By night</h4>" + text + "<h2>By day</h2>" + text, "# The keeper|#### By night|## By day"},
		{"attribute of ours", "Coast News", "<h1>The keeper</h1>" + text + "<h2 data-heading-level=1>By night</h2>" + text, "# The keeper|## By night"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := convert(t, "<title>"+tc.title+"</title><nav><h2>Menu</h2><a href=/>Home</a></nav><main><article>"+tc.in+"</article></main>", Options{})
			if res.WholePage {
				t.Fatal("no main content was found")
			}
			if got := strings.Join(headingLines.FindAllString(res.Markdown, -1), "|"); got != tc.want {
				t.Errorf("headings %s, want %s", got, tc.want)
			}
		})
	}
	t.Run("h1 of the site outside of the main content", func(t *testing.T) {
		res := convert(t, "<title>The keeper</title><header><h1>Coast News</h1></header><main><article><h1>About the keeper</h1>"+text+"</article></main>", Options{})
		if got := strings.Join(headingLines.FindAllString(res.Markdown, -1), "|"); got != "# About the keeper" {
			t.Errorf("headings %s", got)
		}
	})
}
