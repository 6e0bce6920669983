package policy

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// TestFloods checks that parsing repetitive URLs and patterns takes limited time.
func TestFloods(t *testing.T) {
	pattern, err := ParsePattern("localhost/admin")
	if err != nil {
		t.Fatal(err)
	}
	testlog.Floods(t, func(text string) {
		for _, address := range []string{text, "http://" + text, "http://localhost/" + text, "http://localhost/?" + text} {
			if u, err := ParseURL(address); err == nil {
				_, _ = pattern.Allows(u), pattern.Denies(u)
			}
		}
		_, _ = ParsePattern(text)
		_, _ = ParsePattern("localhost/" + text)
	})
}
