package mcptext

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that cleaning, quoting and fencing repetitive text takes limited time.
func TestFloods(t *testing.T) {
	f := NewFence("")
	testlog.Floods(t, func(text string) {
		_ = Clean(text)
		_ = Quote(text, 100)
		_ = f.Wrap(text, text)
	})
}
