package download

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that cleaning a file name with repetitive text takes limited time.
func TestFloods(t *testing.T) {
	testlog.Floods(t, func(text string) {
		_ = CleanName(text, text, "http://a.example/"+text)
		_ = CleanName("", "text/plain", "http://a.example/"+text)
		_ = dispositionName(text)
		_ = dispositionName("attachment; filename=\"" + text + "\"")
		_ = dispositionName("attachment; filename*=UTF-8''" + text)
		_ = sentence(text)
	})
}
