package launch

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestUsersOfProfile checks that the helper processes of a browser are found by its profile: also
// those that Chromium forked, whose arguments are one string.
func TestUsersOfProfile(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	p := mustLaunch(t, o)
	newPage(t, p.Transport, "about:blank")
	await.Until(t, "a renderer and a utility process on the profile", func() bool {
		var all []byte
		for _, pid := range profiles.Users(p.Profile.Dir) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			all = append(all, line...)
		}
		return bytes.Contains(all, []byte("--type=renderer")) && bytes.Contains(all, []byte("--type=utility"))
	})
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
