package mcp

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testlog"
)

// TestFloods: whatever a page repeats, cleaning, quoting and fencing it ends.
func TestFloods(t *testing.T) {
	f := newFence("")
	testlog.Floods(t, func(text string) {
		_ = clean(text)
		_ = quote(text, 100)
		_ = f.wrap(text, text)
		_ = undefinedName.FindStringSubmatch(text)
	})
}
