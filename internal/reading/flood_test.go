package reading

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/urlglob"
)

// TestFloods checks that handling repetitive texts and URLs takes limited time.
func TestFloods(t *testing.T) {
	links, err := urlglob.Compile("*/a/*.html")
	if err != nil {
		t.Fatal(err)
	}
	testlog.Floods(t, func(text string) {
		_ = pagetext.FirstLine(text)
		_ = frames.OriginOfURL(text)
		_ = frames.OriginOfURL("http://" + text)
		_ = links.Match(text)
		_, _ = cut(text, 10, 10, unmasked)
	})
}
