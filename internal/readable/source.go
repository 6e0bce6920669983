package readable

import "strings"

// HTML is the content type of documents for [Convert].
const HTML = "text/html"

// languages maps the content types that are shown as code to languages.
var languages = map[string]string{
	"application/json": "json", "text/json": "json", "application/ld+json": "json",
	"text/xml": "xml", "application/xml": "xml", "application/atom+xml": "xml", "application/rss+xml": "xml", "image/svg+xml": "xml",
	"text/javascript": "javascript", "application/javascript": "javascript", "application/x-javascript": "javascript",
	"text/css": "css", "text/csv": "csv",
}

// ConvertAs is [Convert] for a document of any content type. Text other than HTML and plain text,
// which is already markdown, becomes a code block. For a PDF, it returns only the URL.
func ConvertAs(contentType, text, pageURL string, opts Options) (Result, error) {
	contentType, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	lang := languages[contentType]
	switch {
	case contentType == "", contentType == HTML, contentType == "application/xhtml+xml":
		return Convert(text, pageURL, opts)
	case contentType == "application/pdf":
		return Result{Markdown: "[PDF document](" + pageURL + ")", WholePage: true}, nil
	case lang == "" && strings.HasSuffix(contentType, "+json"):
		lang = "json"
	case lang == "" && strings.HasSuffix(contentType, "+xml"):
		lang = "xml"
	}
	res := Result{WholePage: true}
	if len(text) > MaxBytes {
		text, res.Truncated = strings.ToValidUTF8(text[:MaxBytes], ""), true
	}
	res.Markdown = tidy(text)
	if lang != "" && res.Markdown != "" {
		fence := strings.Repeat("`", max(3, longestRun(res.Markdown, '`')+1))
		res.Markdown = fence + lang + "\n" + res.Markdown + "\n" + fence
	}
	return res, nil
}

// longestRun returns the length of the longest run of c in s.
func longestRun(s string, c byte) (longest int) {
	run := 0
	for i := range len(s) {
		if run++; s[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
