package chromium

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestBlankPopup checks that a blank popup window does not count as our own tab.
func TestBlankPopup(t *testing.T) {
	p, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}, Mutations: true})
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions(t)
	o.Network, o.ExtraArgs = p, []string{"--disable-popup-blocking"}
	b := newBrowser(t, o)
	s, err := b.NewSession(&executor.SessionOptions{Gate: policy.NewGuard(p, nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	executortest.BlankPopup(t, s, newSession(t, b))
}
