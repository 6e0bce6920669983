package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// A flagGroup is a group of flags in the help.
type flagGroup struct {
	title   string
	flags   *pflag.FlagSet
	ofChats bool // whether the settings of chats include its flags
}

var (
	// commandFlags select what one command does, so a configuration file cannot set them.
	commandFlags = []string{
		"config", "session", "connect", "connect-token-file", "unsafe-connect-http", "principal-file", "no-server",
	}
	// nonSessionFlags are not settings of a session, but of a command or a process.
	nonSessionFlags = append([]string{
		"data", "cdp-listen", "egress-address", "idle-browser", "log-level", "log-file",
	}, commandFlags...)
	// unsentFlags are not sent to the server. They are nonSessionFlags, and flags that are the same for all
	// sessions or whose setting is computed.
	unsentFlags = append([]string{"json", "structured", "tools", "proxy"}, nonSessionFlags...)
)

// DefaultDataName is the name of the data directory in the user's home directory.
const DefaultDataName = ".chrome-mcp"

// define returns the settings with their default values, and their flags, in groups, that are also
// environment variables. The other flags select something other than serving; see newRoot.
func define() (*Settings, []flagGroup) {
	s := &Settings{
		sources:     map[string]string{},
		Viewport:    viewport{1280, 720},
		MaxDownload: executor.DefaultMaxDownloadBytes, MaxDownloadTotal: download.DefaultTotal,
		MaxResult: mcp.DefaultMaxResultBytes, MaxOutputTotal: mcp.DefaultMaxOutputBytes,
	}
	var groups []flagGroup
	group := func(title string, ofChats bool) *pflag.FlagSet {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		groups = append(groups, flagGroup{title, fs, ofChats})
		return fs
	}

	fs := group("Allowed sites (none by default)", true)
	fs.StringArrayVar(&s.AllowDomain, "allow-domain", nil, "allow `PATTERN`: example.com, *.example.com, http://shop.example; https unless it says http; localhost and 127.0.0.1 alone mean both, on any port; repeatable")
	fs.StringArrayVar(&s.BlockDomain, "block-domain", nil, "block hosts that match `PATTERN` and their subdomains; overrides --allow-domain; repeatable")
	fs.StringVar(&s.PolicyFile, "policy", "", "read the policy from a JSON `FILE`; flags add to it")
	fs.StringArrayVar(&s.AllowPrivate, "allow-private", nil, "let pages reach private addresses in `CIDR`, such as 10.0.0.0/8; repeatable")
	fs.Var(NewChoice(&s.Subresources, "public", "same", "list"), "subresources", "hosts that pages may load resources from: public (any public host), same (allowed sites only) or list (allowed sites and the listed hosts)")
	fs.BoolVar(&s.AllDomains, "unsafe-all-domains", false, "allow all public hosts; a malicious page could direct the agent to any site")

	fs = group("Permissions (reading and navigation are always allowed on allowed sites)", true)
	fs.BoolVar(&s.Mutations, "enable-mutations", false, "click, type, fill in forms, answer dialogs")
	fs.BoolVar(&s.Downloads, "enable-downloads", false, "allow downloads to the downloads directory in --data")
	fs.BoolVar(&s.Storage, "enable-storage", false, "allow reading and changing cookies and web storage")
	fs.BoolVar(&s.Clipboard, "clipboard", false, "let the agent read and replace your clipboard with copy, cut and paste keys")
	fs.StringVar(&s.StateDir, "state-dir", "", "allow saving and loading storage state (cookies and local storage of allowed sites) in `DIR`")
	fs.StringVar(&s.State, "state", "", "load the storage state `NAME`, a file in --state-dir, into each browser that the session starts")
	fs.StringVar(&s.UploadsDir, "uploads-dir", "", "allow uploading files from `DIR`; also needs --enable-mutations")
	fs.StringVar(&s.ServeDirectory, "serve-directory", "", "let pages load the files of `DIR`, read-only; chrome_status reports the URL")
	fs.BoolVar(&s.Eval, "unsafe-enable-eval", false, "allow the agent to run JavaScript on allowed sites; defaults --subresources to same")

	fs.Var(&s.Secrets, "secrets", "secrets that the agent may type without seeing them: comma-separated `NAMES`, all or none")
	fs.Var(NewChoice(&s.Ask, "auto", "never"), "ask", "prompt the user for missing permissions: auto (extension popup, else MCP elicitation) or never")

	fs = group("Limits", true)
	fs.Var(&s.MaxDownload, "max-download", "maximum size of one download, such as 500KB, 20MB or 1GB")
	fs.Var(&s.MaxDownloadTotal, "max-download-total", "maximum total size of downloads per browser instance")
	fs.Var(NewNumber(&s.MaxDownloads, download.DefaultParallel), "parallel-downloads", "maximum number of parallel downloads")
	fs.Var(NewNumber(&s.MaxTabs, executor.DefaultMaxTabs), "max-tabs", "maximum number of open tabs per session, including popups")
	fs.Var(NewNumber(&s.MaxCalls, mcp.DefaultCallsPerMinute), "max-calls", "maximum number of tool calls per minute")
	fs.Var(&s.MaxResult, "max-result", "maximum size of one tool result")
	fs.Var(NewNumber(&s.MaxImage, mcp.DefaultMaxImage), "max-image", "scale and cut images in results to `PX` pixels a side; saved files have no such limit")
	fs.Var(&s.MaxOutputTotal, "max-output-total", "maximum total size of the results that a session saves in files")

	fs = group("Browser", false)
	fs.StringVar(&s.Browser, "browser", "", "launch browser `NAME|PATH`: chrome, brave, edge, chromium, chrome-for-testing or a path (default: the first one found)")
	fs.BoolVar(&s.Headless, "headless", false, "run without a window; the default if there is no display")
	fs.BoolVar(&s.Isolated, "isolated", false, "use a temporary profile")
	fs.StringVar(&s.Profile, "profile", "default", "use the persistent profile `NAME`, stored in the profiles directory in --data")
	fs.BoolVar(&s.NoSandbox, "no-sandbox", false, "disable the Chromium sandbox; required when running as root")
	fs.Var(&s.Viewport, "viewport", "viewport size in CSS pixels")
	fs.Var(checkedList{&s.BrowserArgs, addBrowserArg}, "browser-arg", "pass `ARG`, such as --accept-lang=de, to a launched browser; see docs/install.md; repeatable")
	fs.StringVar(&s.Proxy, "proxy", "", "upstream HTTP proxy `URL`, or none (default: HTTPS_PROXY or HTTP_PROXY, except for NO_PROXY hosts)")
	fs.StringVar(&s.HTTPCredentials, "http-credentials", "", "JSON `FILE` with user names and passwords for HTTP authentication, by origin; mode 0600")
	fs.Var(checkedList{&s.AcceptCertificates, addCertificateHost}, "accept-certificate", "accept an untrusted certificate of `HOST[:PORT]` (default port 443) in a managed browser; repeatable")
	fs.DurationVar(&s.IdleBrowser, "idle-browser", 0, "close a headless browser after `DURATION` without calls, such as 30m (default: never)")
	fs.StringVar(&s.CDPEndpoint, "cdp-endpoint", "", "attach to a browser at its DevTools `URL`, or to auto, chrome, edge, brave or chromium; it is never closed")
	fs.BoolVar(&s.AttachDefaultContext, "attach-default-context", false, "with --cdp-endpoint: use the default browser context, with its tabs and logins")
	fs.StringVar(&s.egressAddress, "egress-address", "", "`ADDRESS` at which browsers of browserless reach the egress proxy, such as 10.0.0.5:3129")
	fs.StringVar(&s.CDPListen, "cdp-listen", "", "let CDP clients such as Playwright drive the browser: listen on loopback `ADDRESS`, such as 127.0.0.1:0 for a free port; also needs --unsafe-enable-eval")
	fs.Var(NewChoice(&s.CDPClients, cdpMulti, CDPSingle), "cdp-clients", "CDP clients at the same time: multi or single; enables them in a session of the server")
	fs.Var(NewChoice(&s.Prefer, "extension", "cdp"), "prefer", "preferred backend: extension (the user's Chrome, while connected) or cdp (a managed Chromium; no extension can connect)")
	fs.BoolVar(&s.NoCDPFallback, "no-cdp-fallback", false, "never launch or attach to a Chromium while no extension is connected")
	fs.Var(&s.Port, "port", "loopback `PORT` for the extension; 0 picks a free port (default: first free port from 38017 to 38032)")
	fs.StringVar(&s.Data, "data", "", "store profiles, downloads and saved results in `DIR` (default ~/.chrome-mcp)")

	fs = group("Sessions of the server (see chrome-mcp help serve)", false)
	fs.StringVar(&s.Session, "session", server.DefaultSession, "session `NAME` of the server")
	fs.StringVar(&s.Connect, "connect", "", "serve MCP on stdin and stdout with a session of the server at `SOCKET|URL`")
	fs.StringVar(&s.ConnectToken, "connect-token-file", "", "with --connect URL: read the token from `FILE`")
	fs.StringVar(&s.PrincipalFile, "principal-file", "", "with --connect SOCKET: read the token of a session that the server opened from `FILE`")
	fs.BoolVar(&s.ConnectHTTP, "unsafe-connect-http", false, "with --connect URL: send the token over http to another machine, where others on the network can read it")
	fs.BoolVar(&s.NoServer, "no-server", false, "launch a browser for this command only, without the server")

	fs = group("Tools, output and logging", false)
	fs.Var(&s.Tools, "tools", "comma-separated toolsets: core, batch, files, input, devtools, storage, people, or all")
	fs.BoolVar(&s.Structured, "structured", false, "add structured results and output schemas, for programs")
	fs.Var(NewChoice(&s.AfterAction, "diff", "snapshot", "none"), "after-action", "page changes that actions report: diff, snapshot or none")
	fs.Var(&s.LogLevel, "log-level", "minimum log level: debug, info, warn or error")
	fs.StringVar(&s.LogFile, "log-file", "", "append the log to `FILE` instead of stderr; above 8 MiB it is renamed to FILE.old")
	fs.StringVar(&s.config, "config", "", "read settings, which other flags and variables override, from `FILE`, or none (default: config.json in your configuration directory, if it exists)")
	fs.StringVar(&s.AuditLog, "audit-log", "", "append one JSON line per call to `FILE`, without page text or arguments; tools that act fail while it cannot be written; print it with chrome-mcp audit")
	return s, groups
}

// exclusiveFlags are pairs of flags that exclude each other.
var exclusiveFlags = [][2]string{
	{"isolated", "profile"}, {"cdp-endpoint", "browser"}, {"cdp-endpoint", "isolated"}, {"cdp-endpoint", "profile"},
	{"cdp-endpoint", "cdp-listen"}, {"cdp-endpoint", "cdp-clients"}, {"cdp-endpoint", "state"},
	{"cdp-endpoint", "browser-arg"}, {"cdp-endpoint", "accept-certificate"},
	{"http-credentials", "cdp-endpoint"}, {"http-credentials", "cdp-listen"}, {"http-credentials", "cdp-clients"},
}

// complete checks combinations of flags and sets defaults that depend on the environment.
func (s *Settings) complete() error {
	if s.Profile == "" || s.Profile != filepath.Base(s.Profile) || strings.HasPrefix(s.Profile, ".") ||
		strings.ContainsAny(s.Profile, `/\`) {
		return Usagef("Use a simple name, such as work.", "%s: invalid name %q", s.NameOf("profile"), s.Profile)
	}
	for _, pair := range exclusiveFlags {
		if s.Given(pair[0]) && s.Given(pair[1]) {
			return Usagef("Set only one of them.", "%s and %s are mutually exclusive", s.NameOf(pair[0]), s.NameOf(pair[1]))
		}
	}
	if err := s.checkBrowsers(); err != nil {
		return err
	}
	if err := s.checkCDPListen(); err != nil {
		return err
	}
	if s.IdleBrowser < 0 {
		return Usagef("Set a duration such as 30m, or 0 for never.",
			"%s: %v is negative", s.NameOf("idle-browser"), s.IdleBrowser)
	}
	if s.egressAddress != "" {
		var err error
		if s.RemoteEgress, err = chromium.NewRemoteEgress(s.egressAddress); err != nil {
			return s.FlagValueError("egress-address", err)
		}
	}
	if s.AttachDefaultContext && s.CDPEndpoint == "" {
		return Usagef("", "%s needs --cdp-endpoint", s.NameOf("attach-default-context"))
	}
	if s.Data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return Usagef("Set --data, or the variable HOME.", "no data directory: %v", err)
		}
		s.Data = filepath.Join(home, DefaultDataName)
	}
	paths := map[string]*string{"data": &s.Data, "state-dir": &s.StateDir, "uploads-dir": &s.UploadsDir, "serve-directory": &s.ServeDirectory, "http-credentials": &s.HTTPCredentials}
	if launch.IsPath(s.Browser) {
		paths["browser"] = &s.Browser
	}
	for flag, path := range paths {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return Usagef("", "%s: %v", s.NameOf(flag), err)
		}
		*path = absolute
	}
	return nil
}
