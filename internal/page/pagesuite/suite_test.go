package pagesuite

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/managed"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func TestMain(m *testing.M) { managed.Main(m) }

// TestSuite runs the suite in a managed browser.
func TestSuite(t *testing.T) { managed.Run(t, Topics) }

// TestDetails runs the cases of unusual pages.
func TestDetails(t *testing.T) {
	tier.Deep(t)
	managed.Run(t, Details)
}
