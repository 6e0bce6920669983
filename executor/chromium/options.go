package chromium

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/attach"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
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
	// the PATH, or chrome-for-testing, which is in the data directory. Empty means the first of
	// those five that is installed.
	Browser string

	// Headless selects headless mode. nil means headed if a display is available, otherwise
	// headless.
	Headless *bool

	// Isolated uses a temporary profile, which is removed at the end. It excludes Profile.
	Isolated bool

	// Pool, if not nil, runs the browser together with those of other Backends: each Backend has its
	// own browser context. Pool requires Isolated and Network, and excludes CDPEndpoint. A browser
	// whose window has a Color does not use it.
	Pool *Pool

	// Profile names the profile that stores cookies and logins. Only one running browser can use a
	// profile. Default DefaultProfile.
	Profile string

	// DataDir is the directory of profiles and downloads. Default .chrome-mcp in the user's home
	// directory.
	DataDir string

	// Color is the color of the window, as #rrggbb, by which its user distinguishes browsers. Empty
	// keeps that of the profile.
	Color string

	// NoSandbox disables Chromium's sandbox. Chromium does not run as root with its sandbox. For
	// other users it should stay enabled.
	NoSandbox bool

	// Width and Height are the size of the viewport in CSS pixels. Default DefaultWidth and
	// DefaultHeight.
	Width, Height int

	// Network decides on every connection of a launched browser, of our browser context in an
	// attached browser on this machine, and, with RemoteEgress, of a browser of Browserless. The browser then uses an egress proxy in this process,
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
	// ws:// or wss:// URL, which is used as it is, or the http:// address of its debugging port. A
	// name of RunningNames, such as "chrome", selects the user's running browser on this machine,
	// whose address is in the file DevToolsActivePort of its user data directory; "auto" is the
	// first one that is found.
	CDPEndpoint string

	// CDPHeaders, if not nil, returns the headers of the requests to CDPEndpoint. It is called
	// before each connection. Redirects are then not followed.
	CDPHeaders func() (http.Header, error)

	// Browserless, if not nil, launches the browser on a browserless service. It excludes Pool,
	// CDPEndpoint and AttachDefaultContext.
	Browserless *Browserless

	// RemoteEgress, if not nil, is the address of the egress proxy for a browser of Browserless,
	// which is then launched with arguments that select it. Without it, and for a CDPEndpoint on
	// another machine, Network applies only to the requests that CDP reports.
	RemoteEgress *RemoteEgress

	// AttachDefaultContext uses the existing tabs of an attached browser, with its user's logins,
	// instead of a separate browser context.
	AttachDefaultContext bool

	// Principal is whose sessions the Backend serves. In a Pool, Backends of different principals
	// share no browser.
	Principal string
	// CDPClients allows CDP clients to connect; see Backend.ConnectCDP. The documents of subframes
	// are then checked like those of tabs, because clients can read all frames, and the
	// back/forward cache is disabled. CDPClients excludes Pool, CDPEndpoint and Browserless.
	CDPClients bool

	// HTTPCredentials answer challenges of HTTP authentication with the schemes Basic and Digest, by
	// origin, as browsers serialize it. Without credentials, pages get the response with status 401.
	// HTTPCredentials requires Network, and excludes Pool, CDPEndpoint, Browserless and CDPClients.
	HTTPCredentials map[string]HTTPCredentials

	// AcceptCertificates lists servers, as host:port, whose certificates a launched browser does not
	// check, such as self-signed ones. It requires Network, and excludes Pool, CDPEndpoint and
	// Browserless.
	AcceptCertificates []string

	// MaxDownloadBytes bounds the size of one download. Default
	// executor.DefaultMaxDownloadBytes.
	MaxDownloadBytes int64

	// MaxDownloads bounds the number of concurrent downloads, MaxDownloadTotal their total bytes
	// during one browser instance. The defaults are 8 and 2 GiB.
	MaxDownloads     int
	MaxDownloadTotal int64

	// DownloadsDir is the directory of downloads. Default: downloads in DataDir.
	DownloadsDir string
	// DownloadsUsage counts the files that count toward MaxDownloadTotal: those in DownloadsDir, and
	// possibly those of other sessions of the same client, open or not. nil means that only the files of
	// one browser instance count.
	DownloadsUsage executor.FileUsage

	// Audit records each launch, attachment and exit of a browser, and each page download that has
	// ended. nil means no audit log.
	Audit audit.Recorder

	// Logger logs starts, exits and cleanup. nil discards.
	Logger *slog.Logger

	certificateKey string // hash of the key that a launched browser trusts; see egress.Proxy.CertificateKey

	profile *profiles.Profile // temporary profile that CloseIdle kept; nil means another one

	resolver egress.Resolver // of the egress proxy; nil means the system's resolver

	timing timing.Timing // zero means timing.Current()
}

// windowColor matches values of Options.Color.
var windowColor = lazyregexp.New(`^#[0-9a-fA-F]{6}$`)

// IsProfileName reports whether name can be the name of a profile.
func IsProfileName(name string) bool { return profiles.IsName(name) }

// check returns ErrBadArgs for options that are invalid, or that contradict each other. It does not check
// what depends on the environment, such as whether the browser is installed.
func (o *Options) check() error {
	if o.Isolated && o.Profile != "" {
		return executor.Errorf(executor.ErrBadArgs, "Give only one of them.",
			"temporary profile and profile %q are mutually exclusive", o.Profile)
	}
	if o.Pool != nil && (!o.Isolated || o.Network == nil || o.CDPEndpoint != "") {
		return executor.Errorf(executor.ErrBadArgs, "Set Isolated and Network, and no CDPEndpoint.",
			"Pool requires Isolated and Network, and excludes CDPEndpoint")
	}
	if o.Color != "" && !windowColor().MatchString(o.Color) {
		return executor.Errorf(executor.ErrBadArgs, "Write it as #1a73e8.", "color %q is not valid", o.Color)
	}
	if o.Browserless != nil {
		if o.Pool != nil || o.CDPEndpoint != "" || o.AttachDefaultContext || o.CDPClients {
			return executor.Errorf(executor.ErrBadArgs, "Set neither Pool, CDPEndpoint, AttachDefaultContext nor CDPClients.", "Browserless excludes Pool, CDPEndpoint, AttachDefaultContext and CDPClients")
		}
		if err := o.Browserless.Check(); err != nil {
			return err
		}
	}
	if o.CDPClients && (o.Pool != nil || o.CDPEndpoint != "") {
		return executor.Errorf(executor.ErrBadArgs, "Set neither Pool nor CDPEndpoint.", "CDPClients excludes Pool and CDPEndpoint")
	}
	if len(o.HTTPCredentials) > 0 && (o.Network == nil || o.Pool != nil || o.CDPEndpoint != "" || o.Browserless != nil || o.CDPClients) {
		return executor.Errorf(executor.ErrBadArgs, "Set Network, and neither Pool, CDPEndpoint, Browserless nor CDPClients.", "HTTPCredentials requires Network, and excludes Pool, CDPEndpoint, Browserless and CDPClients")
	}
	if len(o.AcceptCertificates) > 0 && (o.Network == nil || o.Pool != nil || o.CDPEndpoint != "" || o.Browserless != nil) {
		return executor.Errorf(executor.ErrBadArgs, "Set Network, and neither Pool, CDPEndpoint nor Browserless.", "AcceptCertificates requires Network, and excludes Pool, CDPEndpoint and Browserless")
	}
	if o.Profile != "" && !IsProfileName(o.Profile) {
		return executor.Errorf(executor.ErrBadArgs,
			"Use up to 63 letters, digits, dots, dashes and underscores.", "profile %q is not a usable name", o.Profile)
	}
	if o.Width < 0 || o.Height < 0 || o.Width > maxWindow || o.Height > maxWindow {
		return executor.Errorf(executor.ErrBadArgs, "", "viewport %dx%d has a side that is negative or exceeds %d pixels", o.Width, o.Height, maxWindow)
	}
	if o.Proxy != "" && o.Network == nil {
		return executor.Errorf(executor.ErrBadArgs, "Set Network, too.", "Proxy requires Network")
	}
	if _, err := egress.ParseUpstream(o.Proxy); err != nil {
		return err
	}
	for _, server := range o.AcceptCertificates {
		if err := egress.CheckServer(server); err != nil {
			return executor.Errorf(executor.ErrBadArgs, "Write it as host:port.", "AcceptCertificates: %w", err)
		}
	}
	switch {
	case o.Browserless != nil:
	case o.CDPEndpoint == "":
		return o.checkArguments()
	case !IsRunningName(o.CDPEndpoint):
		_, err := attach.ParseURL(o.CDPEndpoint)
		return err
	}
	return nil
}

// checkArguments returns ErrBadArgs for options that cannot be arguments of a launched browser.
func (o *Options) checkArguments() error {
	if o.Network == nil && o.ProxyServer != "" {
		if _, err := launch.ProxyArguments(o.ProxyServer); err != nil {
			return err
		}
	}
	for _, arg := range o.ExtraArgs {
		if _, _, err := launch.CheckArgument(arg, o.Network != nil || o.ProxyServer != ""); err != nil {
			return err
		}
	}
	return nil
}

// withDefaults returns o, which is valid, with its defaults set. It returns ErrBadArgs if the user's home
// directory is needed and unknown.
func (o Options) withDefaults() (Options, error) {
	if o.Color != "" && o.Pool != nil {
		// Chromium shows the color only in windows of the default browser context.
		if headless, err := launch.Headless(o.Headless); err == nil && !headless {
			o.Pool = nil
		}
	}
	o.Profile = cmp.Or(o.Profile, DefaultProfile)
	o.Width, o.Height = cmp.Or(o.Width, DefaultWidth), cmp.Or(o.Height, DefaultHeight)
	if o.MaxDownloadBytes <= 0 {
		o.MaxDownloadBytes = executor.DefaultMaxDownloadBytes
	}
	o.Logger, o.timing = cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), cmp.Or(o.timing, timing.Current())
	var err error
	o.DataDir, err = profiles.DataDir(o.DataDir)
	o.DownloadsDir = cmp.Or(o.DownloadsDir, filepath.Join(o.DataDir, "downloads"))
	return o, err
}

// endpoint returns the endpoint that the options select.
func (o *Options) endpoint() (attach.Endpoint, error) {
	e := attach.Endpoint{URL: o.CDPEndpoint}
	if o.CDPHeaders != nil {
		var err error
		if e.Header, err = o.CDPHeaders(); err != nil {
			return e, err
		}
	}
	if IsRunningName(e.URL) {
		u, err := FindRunning(e.URL)
		if err != nil {
			return e, err
		}
		e.URL = u.String()
	}
	return e, nil
}

// local reports whether the browser to attach to runs on this machine.
func (o *Options) local() bool {
	if IsRunningName(o.CDPEndpoint) {
		return true
	}
	u, err := url.Parse(o.CDPEndpoint)
	return err == nil && isLocal(u)
}

// isLocal reports whether the host of a URL is this machine.
func isLocal(u *url.URL) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// closePort denies pages the port in the address of a browser on this machine: it lists the tabs of all
// clients, and closes them.
func (o *Options) closePort(address string) {
	u, err := url.Parse(address)
	own, ok := o.Network.(interface{ AddOwnPort(port int) })
	if err != nil || !ok || !isLocal(u) {
		return
	}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		own.AddOwnPort(port)
		if shared, ok := o.Network.(interface{ AddDebuggingPort(port int) }); ok {
			shared.AddDebuggingPort(port)
		}
	}
}

// isEncrypted reports whether others on the network cannot read a connection to the browser at an
// address.
func isEncrypted(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "wss" || u.Scheme == "https" || isLocal(u))
}

// launch launches a browser. o must have its defaults set.
func (o *Options) launch(ctx context.Context) (*launch.Process, error) {
	profile := o.Profile
	if o.Isolated {
		profile = ""
	}
	var filters []string
	for _, origin := range slices.Sorted(maps.Keys(o.HTTPCredentials)) {
		filters = append(filters, exactFilter(origin))
	}
	return launch.Start(ctx, launch.Options{
		Browser: o.Browser, Headless: o.Headless, DataDir: o.DataDir, Profile: profile, Kept: o.profile,
		Color: o.Color, NoSandbox: o.NoSandbox, Width: o.Width, Height: o.Height,
		ProxyServer: o.ProxyServer, CertificateKey: o.certificateKey, AuthFilters: filters,
		NoBackForwardCache: o.CDPClients, ExtraArgs: o.ExtraArgs, Logger: o.Logger, Timing: o.timing,
	})
}

// maxWindow is larger than any screen, and small enough for Chromium's integers.
const maxWindow = 16384
