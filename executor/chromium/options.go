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
	DefaultProfile          = "default"
	DefaultWidth            = 1280
	DefaultHeight           = 720
	DefaultMaxDownloadBytes = 100 << 20
)

// Options say which browser to use and how. The zero value finds an installed
// browser, and launches it on the profile "default", headed where there is a
// display.
type Options struct {
	// Browser is the path of a browser, or the name of one: chrome, brave,
	// edge, chromium, or a program on the PATH. Empty takes the first of
	// those four that is installed.
	Browser string

	// Headless: nil is headed where there is a display, else headless.
	Headless *bool

	// Isolated uses a temporary profile, which is removed at the end. It
	// excludes Profile.
	Isolated bool

	// Profile names the profile to keep cookies and logins in. Only one
	// running browser can use a profile. Default DefaultProfile.
	Profile string

	// DataDir is the folder of profiles and downloads. Default .chrome-mcp in
	// the user's home.
	DataDir string

	// NoSandbox turns off Chromium's sandbox. Chromium does not start as root
	// without it; anywhere else it should stay on.
	NoSandbox bool

	// Width and Height are the size of the viewport in CSS pixels. Default
	// DefaultWidth and DefaultHeight.
	Width, Height int

	// Network decides on every connection of a launched browser, and of one
	// joined on this machine in a context of our own: it is put behind a
	// filtering proxy in this process, which takes the place of ProxyServer.
	// Nil leaves the browser's network as it is.
	Network NetworkPolicy

	// Proxy is the address of an http proxy, http://host:port, that the
	// filtering proxy goes through. It needs Network.
	Proxy string

	// NoProxy lists hosts that are reached without Proxy, as the variable
	// NO_PROXY does.
	NoProxy string

	// ProxyServer is the host:port of an HTTP proxy that all traffic goes
	// through, loopback included. Chromium then resolves no names itself, and
	// uses neither QUIC nor WebRTC past the proxy. Empty is a direct
	// connection.
	ProxyServer string

	// ExtraArgs are added to the command line of a launched browser. Those
	// that would take the browser out of our hands are refused.
	ExtraArgs []string

	// CDPEndpoint is the address of a running browser to join instead of
	// launching one: a ws:// or wss:// URL, used as it is, or the http://
	// address of its debugging port.
	CDPEndpoint string

	// AttachDefaultContext works in the tabs that a joined browser already
	// has, with its user's logins, instead of in a browser context of our own.
	AttachDefaultContext bool

	// MaxDownloadBytes bounds the size of one download. Default
	// DefaultMaxDownloadBytes.
	MaxDownloadBytes int64

	// MaxDownloads bounds the downloads at the same time, MaxDownloadTotal their
	// bytes in sum over one run of the browser. The defaults are 8, and 2 GiB.
	MaxDownloads     int
	MaxDownloadTotal int64

	// Audit is told when a browser was launched, joined or ended, and of each
	// download of a page's that has ended. Nil is none.
	Audit audit.Recorder

	// Logger receives what is worth knowing of starts, ends and clearing
	// away. nil discards.
	Logger *slog.Logger

	resolver egress.Resolver // of the filtering proxy; nil is the system's
}

// profileName is what a profile may be called: it becomes the name of a
// folder on every system, so nothing that any of them treats specially.
var profileName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)
})

// withDefaults returns o with its defaults filled in, or ErrBadArgs.
func (o Options) withDefaults() (Options, error) {
	if o.Isolated && o.Profile != "" {
		return o, executor.Errorf(executor.ErrBadArgs, "Give only one of them.",
			"both a temporary profile and profile %q are asked for", o.Profile)
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
		o.MaxDownloadBytes = DefaultMaxDownloadBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.DataDir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return o, executor.Errorf(executor.ErrBadArgs, "Name a data folder.", "no home folder: %w", err)
		}
		o.DataDir = filepath.Join(home, ".chrome-mcp")
	}
	// Chromium is recognised later by the profile's path in its command line,
	// so the path must be the same whatever folder we are started in.
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return o, executor.Errorf(executor.ErrBadArgs, "", "data folder %q: %w", o.DataDir, err)
	}
	o.DataDir = dir
	return o, nil
}

// maxWindow is larger than any screen, and small enough for Chromium's ints.
const maxWindow = 16384

// headless decides between a window and none.
func (o *Options) headless(goos string, getenv func(string) string) (bool, error) {
	display := hasDisplay(goos, getenv)
	if o.Headless == nil {
		return !display, nil
	}
	if !*o.Headless && !display {
		return false, noDisplay()
	}
	return *o.Headless, nil
}

// hasDisplay reports whether a window can be shown. Only X11 and Wayland tell;
// elsewhere there is one, and Chromium says so when there is not.
func hasDisplay(goos string, getenv func(string) string) bool {
	switch goos {
	case "windows", "darwin":
		return true
	}
	return getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}

func noDisplay() error {
	return executor.Errorf(executor.ErrLaunchFailed, "Start it headless (--headless), or set DISPLAY; xvfb-run gives a display to a machine without one.",
		"a visible browser window was asked for, but there is no display")
}

// ownHeadless decides for this machine.
func (o *Options) ownHeadless() (bool, error) { return o.headless(runtime.GOOS, os.Getenv) }
