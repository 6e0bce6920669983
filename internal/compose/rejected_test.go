package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestRejectedBrowser checks that the first call that needs the browser reports an option that is invalid,
// so that a session that only uses the extension works.
func TestRejectedBrowser(t *testing.T) {
	s, err := cli.Parse([]string{"--profile=my profile", "--allow-domain=example.com", "--data", t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Policy(s)
	if err != nil {
		t.Fatal(err)
	}
	ex, err := OpenBrowser(s, policy.NewGuard(rules, nil))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ex.Navigate(t.Context(), "https://example.com/", nil)
	if !errors.Is(err, executor.ErrBadArgs) || !strings.HasPrefix(err.Error(), `navigate: profile "my profile" is not a usable name`) {
		t.Errorf("navigate: %v", err)
	}
	if status := ex.Status(t.Context()); status.Ready || !strings.Contains(status.Detail, "is not a usable name") {
		t.Errorf("status %+v", status)
	}
	if err := ex.Close(); err != nil {
		t.Error(err)
	}
}
