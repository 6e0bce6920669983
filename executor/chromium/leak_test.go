package chromium

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/policy"
	"github.com/chrome-mcp/chrome-mcp/policy/leaktest"
)

// TestLeaks walks a few of the ways in which a page can reach another host.
func TestLeaks(t *testing.T) {
	leaktest.Run(t, leaktest.Harness{Backend: "chromium", Start: startLeaky, Routes: leaktest.Few})
}

// TestLongLeaks walks them all, twice.
func TestLongLeaks(t *testing.T) {
	leaktest.Full(t, leaktest.Harness{Backend: "chromium", Start: startLeaky})
}

// startLeaky starts a browser for the ways out of it.
func startLeaky(t *testing.T, setup leaktest.Setup) leaktest.Browser {
	o := testOptions(t)
	o.Isolated = true
	log, flag := leaktest.NetLog(t)
	o.ExtraArgs = append(setup.Flags, flag)
	names := &leaktest.Names{}
	gate, wrap := executor.AllowAll, func(e executor.Executor) executor.Executor { return e }
	if p := setup.Policy; p != nil {
		o.Network, o.resolver = leaktest.Internet{Policy: p}, names
		guard := policy.NewGuard(p, nil)
		gate, wrap = guard, guard.Wrap
	} else {
		o.ExtraArgs = append(o.ExtraArgs, leaktest.MapNames)
	}
	b := newBrowser(t, o)
	return leaktest.Browser{
		NewSession: func(t *testing.T) executor.Executor {
			s, err := b.NewSession(executor.SessionOptions{Gate: gate})
			if err != nil {
				t.Fatal(err)
			}
			return wrap(s)
		},
		Close: func(t *testing.T) []string {
			if err := b.Close(); err != nil {
				t.Errorf("closing the browser: %v", err)
			}
			return append(names.Asked(), leaktest.LookedUp(t, log)...)
		},
	}
}
