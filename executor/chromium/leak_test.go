package chromium

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/leaktest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/browserless"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// leaky are the harnesses of a managed browser, of an attached browser with our own browser
// context, and of a context in a browser that is shared with a session that may reach every host.
var leaky = map[string]leaktest.Harness{
	"chromium": {Backend: "chromium", Start: startLeaky},
	"attached": {Backend: "attached", Start: attachLeaky, Preconnects: true}, // we pass it no flag that prevents preconnects
	"pool":     {Backend: "chromium", Start: poolLeaky},                      // the results are those of a managed browser
}

// TestLeaks tests a few of the routes by which a page can reach another host.
func TestLeaks(t *testing.T) {
	for name, h := range leaky {
		h.Routes = leaktest.QuickRoutes
		if name == "pool" { // routes for which the CDP session or the browser context matters; TestPoolLeaks has all
			h.Routes = []string{"popup-sandboxed-escaped", "shared-worker-data-fetch"}
		}
		t.Run(name, func(t *testing.T) {
			if name == "attached" { // shares most of its code with a managed browser
				tier.Deep(t)
			}
			leaktest.Run(t, h)
		})
	}
}

// TestLongLeaks tests all routes in a managed browser.
func TestLongLeaks(t *testing.T) {
	tier.Deep(t)
	leaktest.Full(t, leaky["chromium"])
}

// TestAttachedLeaks tests all routes in an attached browser.
func TestAttachedLeaks(t *testing.T) {
	tier.Deep(t)
	leaktest.Full(t, leaky["attached"])
}

// TestPoolLeaks tests all routes in a shared browser. It takes ten minutes with the race detector.
func TestPoolLeaks(t *testing.T) {
	tier.Deep(t)
	leaktest.Full(t, leaky["pool"])
}

// TestRemoteLeaks tests all routes in a browser of browserless, which reaches an egress address of this
// machine. The results are those of a managed browser, with two exceptions: we cannot set the
// preferences that prevent preconnects, and browserless may resume a new tab before we do.
func TestRemoteLeaks(t *testing.T) {
	tier.Deep(t)
	leaktest.Run(t, leaktest.Harness{Backend: "chromium", Start: remoteLeaky, Preconnects: true, Resumed: true})
}

// TestDeniedPaths opens many spellings of a denied path.
func TestDeniedPaths(t *testing.T) {
	leaktest.Paths(t, leaktest.Harness{Backend: "chromium", Start: startLeaky})
}

// TestOwnPorts checks that pages cannot reach the ports of the program.
func TestOwnPorts(t *testing.T) {
	for name, h := range leaky {
		t.Run(name, func(t *testing.T) {
			if name != "chromium" { // shares most of its code with a managed browser
				tier.Deep(t)
			}
			leaktest.OwnPorts(t, h)
		})
	}
}

// startLeaky launches a browser for the leak tests.
func startLeaky(t *testing.T, setup leaktest.Setup) leaktest.Browser {
	tier.Browser(t)
	return leakyBrowser(t, setup, func(o *Options, flags []string) (end func()) {
		o.Isolated, o.ExtraArgs = true, flags
		return func() {}
	})
}

// attachLeaky starts a browser of another program and attaches to it.
func attachLeaky(t *testing.T, setup leaktest.Setup) leaktest.Browser {
	return leakyBrowser(t, setup, func(o *Options, flags []string) (end func()) {
		_, o.CDPEndpoint, end = runForeign(t, tier.FullBrowser(), t.TempDir(), flags...)
		return end
	})
}

// poolLeaky launches a browser for the leak tests that another session without a policy also uses.
func poolLeaky(t *testing.T, setup leaktest.Setup) leaktest.Browser {
	tier.Browser(t)
	if setup.Policy == nil {
		return startLeaky(t, setup)
	}
	return leakyBrowser(t, setup, func(o *Options, flags []string) (end func()) {
		pool := new(Pool)
		o.Browser, o.Isolated, o.ExtraArgs, o.Pool = tier.Shell(), true, flags, pool
		free := *o
		free.Network = anyHost{}
		other := mustNew(t, free)
		s, err := other.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
		if err == nil {
			_, _, err = s.NewPage(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := errors.Join(other.Close(), pool.Close()); err != nil {
				t.Errorf("closing the other session: %v", err)
			}
		}
	})
}

// remoteLeaky starts a browserless server whose browsers reach an egress address.
func remoteLeaky(t *testing.T, setup leaktest.Setup) leaktest.Browser {
	return leakyBrowser(t, setup, func(o *Options, flags []string) (end func()) {
		// The launch options of browserless accept few flags.
		browser := filepath.Join(t.TempDir(), "chromium")
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" '%s'\n", findBrowser(t), strings.Join(flags, "' '"))
		if err := os.WriteFile(browser, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		replica := browserless.Start(t, browserless.Options{Browser: browser, Token: browserlessToken, Concurrent: 1})
		o.Browserless = browserlessOptions(t, replica.URL).Browserless
		remote, err := NewRemoteEgress(outsideAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		o.RemoteEgress = remote
		return replica.Kill
	})
}

// leakyBrowser returns a browser under the policy of setup. provide sets the
// options for a browser with the given flags. end is called after our Browser is
// closed.
func leakyBrowser(t *testing.T, setup leaktest.Setup, provide func(o *Options, flags []string) (end func())) leaktest.Browser {
	o := testOptions(t)
	log, flag := leaktest.NetLog(t)
	flags := append(setup.Flags, flag)
	names := &leaktest.Resolver{}
	gate, wrap := executor.AllowAll, func(e executor.Executor) executor.Executor { return e }
	if p := setup.Policy; p != nil {
		o.Network, o.resolver = leaktest.PublicNamesPolicy{Policy: p}, names
		guard := policy.NewGuard(p, nil)
		gate, wrap = guard, guard.Wrap
	} else {
		flags = append(flags, leaktest.MapNames)
	}
	end := provide(&o, flags)
	b := newBrowser(t, o)
	return leaktest.Browser{
		NewSession: func(t *testing.T) executor.Executor {
			s, err := b.NewSession(&executor.SessionOptions{Gate: gate})
			if err != nil {
				t.Fatal(err)
			}
			return wrap(s)
		},
		Close: func(t *testing.T) []string {
			if err := b.Close(); err != nil {
				t.Errorf("closing the browser: %v", err)
			}
			end()
			return append(names.Asked(), leaktest.LookedUp(t, log)...)
		},
	}
}
