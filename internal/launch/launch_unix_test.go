//go:build unix

package launch

import (
	"context"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func TestClosingAHungBrowserKillsIt(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	p := mustLaunch(t, o)
	newPage(t, p.Transport, "about:blank")
	if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // do not wait
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if left := profiles.Users(p.Profile.Dir); len(left) > 0 || exists(p.Profile.Dir) {
		t.Errorf("processes left: %v, profile directory exists: %v", left, exists(p.Profile.Dir))
	}
}
