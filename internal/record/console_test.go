package record

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

func TestStackRedactsDeniedURLs(t *testing.T) {
	const text = "Error: see https://denied.test/page?q\n    at f (https://denied.test/a.js?SECRET:1:2)\n    at https://denied.test/b.js?SECRET:3:4\n    at g (https://fine.test/c.js?v=1:5:6)\n    at <anonymous>"
	const want = "Error: see https://denied.test/page?q\n    at f (https://denied.test)\n    at https://denied.test\n    at g (https://fine.test/c.js?v=1:5:6)\n    at <anonymous>"
	got := redactStack(text, func(url string) bool { return frames.OriginOfURL(url) == "https://fine.test" })
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
