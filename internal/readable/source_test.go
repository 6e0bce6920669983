package readable

import "testing"

func TestConvertAs(t *testing.T) {
	for _, c := range []struct{ contentType, text, want string }{
		{"text/html", "<p>A <b>lamp</b>", "A **lamp**"},
		{"", "<p>A lamp", "A lamp"},
		{"application/xhtml+xml", "<p>A lamp</p>", "A lamp"},
		{"text/plain", "A <lamp>\n* one\n", "A <lamp>\n* one"},
		{"text/markdown;charset=utf-8", "# A lamp", "# A lamp"},
		{"application/json", `{"a":1}`, "```json\n{\"a\":1}\n```"},
		{"application/problem+json", "{\"a\":\"```\"}", "````json\n{\"a\":\"```\"}\n````"},
		{"application/rss+xml", "<rss/>", "```xml\n<rss/>\n```"},
		{"application/vnd.x+xml", "<x/>", "```xml\n<x/>\n```"},
		{"text/javascript", "let a", "```javascript\nlet a\n```"},
		{"application/json", "", ""},
		{"application/pdf", "", "[PDF document](https://lamp.example/a.pdf)"},
	} {
		r, err := ConvertAs(c.contentType, c.text, "https://lamp.example/a.pdf", Options{WholePage: true})
		if err != nil || r.Markdown != c.want || !r.WholePage {
			t.Errorf("%s %q: %+v, %v, want %q", c.contentType, c.text, r, err, c.want)
		}
	}
}
