package mcp

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that matching repetitive text takes limited time.
func TestFloods(t *testing.T) {
	testlog.Floods(t, func(text string) { _ = undefinedName().FindStringSubmatch(text) })
}
