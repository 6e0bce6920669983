package mcp

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that cleaning, quoting and fencing repetitive text takes limited time.
func TestFloods(t *testing.T) {
	f := newFence("")
	testlog.Floods(t, func(text string) {
		_ = clean(text)
		_ = quote(text, 100)
		_ = f.wrap(text, text)
		_ = undefinedName().FindStringSubmatch(text)
	})
}
