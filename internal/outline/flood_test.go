package outline

import (
	"encoding/json"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that cleaning and decoding repetitive text takes limited time.
func TestFloods(t *testing.T) {
	testlog.Floods(t, func(text string) {
		_ = pagetext.FoldCase(text)
		_, _ = Decode([]byte(text), "key")
		if raw, err := json.Marshal(text); err == nil {
			_, _ = Decode(raw, "key")
		}
	})
}
