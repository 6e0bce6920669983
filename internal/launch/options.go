package launch

import (
	"context"
	"log/slog"
	"os"
	"runtime"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// Options select a browser and configure its launch. DataDir, Width, Height, Logger and Timing must be
// set.
type Options struct {
	Browser  string // as in [Find]
	Headless *bool  // nil means headed if a display is available, otherwise headless
	DataDir  string // the absolute path of the directory of profiles
	Profile  string // the name of the profile; empty means a temporary one
	// Kept is a temporary profile of an earlier browser to use; nil means a new one.
	Kept          *profiles.Profile
	Color         string // of the window, as #rrggbb; empty means that of the profile
	NoSandbox     bool
	Width, Height int // of the viewport, in CSS pixels

	// ProxyServer is the host:port of an HTTP proxy for all traffic, including loopback. Empty means a
	// direct connection.
	ProxyServer string
	// CertificateKey is the hash of a key that the browser trusts; see egress.Proxy.CertificateKey.
	CertificateKey string
	// AuthFilters are the URL filters, in the format of Chromium's policies, of the servers whose HTTP
	// authentication is enabled.
	AuthFilters []string
	// NoBackForwardCache disables the back/forward cache: Playwright and chromedp wait for the load of a
	// page that the browser only shows again. Playwright launches its own browsers like this.
	NoBackForwardCache bool
	ExtraArgs          []string // arguments that would break our control of the browser are rejected

	Logger *slog.Logger
	Timing timing.Timing
}

// acquireProfile locks the profile of the browser.
func (o *Options) acquireProfile(ctx context.Context) (*profiles.Profile, error) {
	switch {
	case o.Kept != nil:
		return o.Kept, nil
	case o.Profile == "":
		return profiles.NewTemporary(o.DataDir)
	}
	return profiles.Acquire(ctx, o.DataDir, o.Profile, o.Logger)
}

// Headless reports whether to launch the browser without a window. wanted is as in [Options].Headless.
func Headless(wanted *bool) (bool, error) { return headless(wanted, runtime.GOOS, os.Getenv) }

// headless is Headless for an operating system and an environment.
func headless(wanted *bool, goos string, getenv func(string) string) (bool, error) {
	display := hasDisplay(goos, getenv)
	if wanted == nil {
		return !display, nil
	}
	if !*wanted && !display {
		return false, noDisplayError()
	}
	return *wanted, nil
}

// hasDisplay reports whether a window can be shown. Only X11 and Wayland can be checked. On other
// systems a display is assumed, and Chromium reports an error if there is none.
func hasDisplay(goos string, getenv func(string) string) bool {
	switch goos {
	case "windows", "darwin":
		return true
	}
	return getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}

func noDisplayError() error {
	return executor.Errorf(executor.ErrLaunchFailed, "Start it headless (Options.Headless), or set DISPLAY; on a machine without a display, use xvfb-run.",
		"headed mode requires a display")
}
