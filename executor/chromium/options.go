package chromium

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
)

// The defaults of [Options].
const (
	DefaultProfile = "default"
	DefaultWidth   = 1280
	DefaultHeight  = 720
)

// Options select the browser and configure it. The zero value launches an installed browser on the
// profile "default", headed if a display is available.
type Options struct {
	// Browser is the path of a browser, or a name: chrome, brave, edge, chromium, or a program on
	// the PATH. Empty means the first of those four that is installed.
	Browser string

	// Headless selects headless mode. nil means headed if a display is available, otherwise
	// headless.
	Headless *bool

	// Isolated uses a temporary profile, which is removed at the end. It excludes Profile.
	Isolated bool

	// Pool, if not nil, runs the browser together with those of other Backends: each Backend has its
	// own browser context. Pool requires Isolated and Network, and excludes CDPEndpoint.
	Pool *Pool

	// Profile names the profile that stores cookies and logins. Only one running browser can use a
	// profile. Default DefaultProfile.
	Profile string

	// DataDir is the directory of profiles and downloads. Default .chrome-mcp in the user's home
	// directory.
	DataDir string

	// NoSandbox disables Chromium's sandbox. Chromium does not run as root with its sandbox. For
	// other users it should stay enabled.
	NoSandbox bool

	// Width and Height are the size of the viewport in CSS pixels. Default DefaultWidth and
	// DefaultHeight.
	Width, Height int

	// Network decides on every connection of a launched browser, and of our browser context in an
	// attached browser on this machine. The browser then uses an egress proxy in this process,
	// which overrides ProxyServer. nil does not change the browser's network.
	Network NetworkPolicy

	// Proxy is the URL of an upstream HTTP proxy, http://host:port, for the egress proxy. It
	// requires Network.
	Proxy string

	// NoProxy lists hosts that are reached without Proxy, in the format of the variable NO_PROXY.
	NoProxy string

	// ProxyServer is the host:port of an HTTP proxy for all traffic, including loopback. Chromium
	// then does not resolve names itself, and uses neither QUIC nor WebRTC outside the proxy. Empty
	// means a direct connection.
	ProxyServer string

	// ExtraArgs are added to the command line of a launched browser. Arguments that would break our
	// control of the browser are rejected.
	ExtraArgs []string

	// CDPEndpoint is the address of a running browser to attach to instead of launching one: a
	// ws:// or wss:// URL, which is used as it is, or the http:// address of its debugging port.
	CDPEndpoint string

	// AttachDefaultContext uses the existing tabs of an attached browser, with its user's logins,
	// instead of a separate browser context.
	AttachDefaultContext bool

	// MaxDownloadBytes bounds the size of one download. Default
	// executor.DefaultMaxDownloadBytes.
	MaxDownloadBytes int64

	// MaxDownloads bounds the number of concurrent downloads, MaxDownloadTotal their total bytes
	// during one browser instance. The defaults are 8 and 2 GiB.
	MaxDownloads     int
	MaxDownloadTotal int64

	// Audit records each launch, attachment and exit of a browser, and each page download that has
	// ended. nil means no audit log.
	Audit audit.Recorder

	// Logger logs starts, exits and cleanup. nil discards.
	Logger *slog.Logger

	resolver egress.Resolver // of the egress proxy; nil means the system's resolver
}

// profileName matches valid profile names. A profile name becomes a directory name on every
// operating system, so it must not contain special characters of any of them.
var profileName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)
})

// withDefaults returns o with its defaults set, or ErrBadArgs.
func (o Options) withDefaults() (Options, error) {
	if o.Isolated && o.Profile != "" {
		return o, executor.Errorf(executor.ErrBadArgs, "Give only one of them.",
			"temporary profile and profile %q are mutually exclusive", o.Profile)
	}
	if o.Pool != nil && (!o.Isolated || o.Network == nil || o.CDPEndpoint != "") {
		return o, executor.Errorf(executor.ErrBadArgs, "Set Isolated and Network, and no CDPEndpoint.",
			"the options do not fit a browser of a pool")
	}
	if o.Profile == "" {
		o.Profile = DefaultProfile
	}
	if !profileName().MatchString(o.Profile) || strings.HasSuffix(o.Profile, ".") {
		return o, executor.Errorf(executor.ErrBadArgs,
			"Use up to 63 letters, digits, dots, dashes and underscores.", "profile %q is not a usable name", o.Profile)
	}
	if o.Width < 0 || o.Height < 0 || o.Width > maxWindow || o.Height > maxWindow {
		return o, executor.Errorf(executor.ErrBadArgs, "", "viewport %dx%d is not between 1 and %d pixels", o.Width, o.Height, maxWindow)
	}
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	if o.Height == 0 {
		o.Height = DefaultHeight
	}
	if o.MaxDownloadBytes <= 0 {
		o.MaxDownloadBytes = executor.DefaultMaxDownloadBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.DataDir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return o, executor.Errorf(executor.ErrBadArgs, "Specify a data directory.", "no home directory: %w", err)
		}
		o.DataDir = filepath.Join(home, ".chrome-mcp")
	}
	// Chromium is later recognized by the path of the profile in its command line, so the path must
	// not depend on the working directory.
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return o, executor.Errorf(executor.ErrBadArgs, "", "data directory %q: %w", o.DataDir, err)
	}
	o.DataDir = dir
	return o, nil
}

// maxWindow is larger than any screen, and small enough for Chromium's integers.
const maxWindow = 16384

// headless reports whether to launch the browser without a window.
func (o *Options) headless(goos string, getenv func(string) string) (bool, error) {
	display := hasDisplay(goos, getenv)
	if o.Headless == nil {
		return !display, nil
	}
	if !*o.Headless && !display {
		return false, noDisplayError()
	}
	return *o.Headless, nil
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

// ownHeadless calls headless for this machine.
func (o *Options) ownHeadless() (bool, error) { return o.headless(runtime.GOOS, os.Getenv) }
