package record

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that recording repetitive log messages takes limited time.
func TestFloods(t *testing.T) {
	testlog.Floods(t, func(text string) {
		_ = fillFormat([]string{text, text, "x"})
		_ = pagetext.Truncate(text, maxRecordText)
	})
}
