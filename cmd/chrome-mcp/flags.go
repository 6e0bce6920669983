package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboard"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/fileserver"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// settings are the values of the flags and environment variables.
type settings struct {
	args    []string               // command line
	given   func(flag string) bool // reports whether the flag or its variable was set
	sources map[string]string      // maps each flag that is not on the command line to what set it
	config  string                 // configuration file; noConfig for none, empty for the default

	// Allowed sites, permissions and limits.
	allowDomain, blockDomain, allowPrivate []string
	policyFile, uploadsDir, serveDirectory string
	stateDir, state                        string
	allDomains, mutations, downloads, eval bool
	storage, clipboard                     bool
	subresources, ask                      string
	secrets                                secretNames
	maxDownload, maxDownloadTotal          byteSize
	maxResult, maxOutputTotal              byteSize
	maxDownloads, maxTabs                  int
	maxCalls, maxImage                     int
	maxBrowsers                            int // of the server

	// Browser.
	browser, profile, cdpEndpoint, prefer, proxy, noProxy, data string
	headless, isolated, noSandbox                               bool
	httpCredentials                                             string // file
	attachDefaultContext, noCDPFallback                         bool
	cdpListen, cdpClients, egressAddress                        string
	idleBrowser                                                 time.Duration // 0 means never
	viewport                                                    viewport
	browserArgs, acceptCertificates                             []string
	port                                                        portFlag
	browsers                                                    []namedBrowser // of the configuration file

	// Server of call and shell.
	session, connect string
	replacedSession  bool   // opening the session closed one with other settings
	connectToken     string // file
	principalFile    string
	connectHTTP      bool
	noServer         bool
	remoteEgress     *chromium.RemoteEgress              // at egressAddress; of all sessions of the process; may be nil
	pool             *chromium.Pool                      // of the sessions with temporary profiles; nil outside of the server
	observe          func(audit.Recorder) audit.Recorder // adds an observer to the audit log; may be nil
	watched          *dashboard.BoardSession             // the session on the dashboard; nil for doctor
	dirs             sessionDirs                         // of downloads and saved results

	// Tools, output and logging.
	tools       toolsets
	structured  bool
	afterAction string
	logLevel    logLevel
	logFile     string
	auditLog    string

	vault    *secrets.Vault   // of the process; nil until openVault
	ownVault *secrets.Session // of the session; nil until sessionVault

	// Set by the server for a session.
	limit        func(context.Context) (release func(), err error)         // mcp.Options.Limit
	wrapBackend  func(executor.Backend) executor.Backend                   // nil means no wrapper
	wrapNamed    func(b executor.Backend, profile string) executor.Backend // wrapBackend for a named browser with a profile
	files        *fileserver.Server                                        // of serveDirectory; set by openMCP
	auditLogs    *auditLogs                                                // of the server
	chatAgent    string                                                    // name of the agent, if the session is that of a chat
	installation string                                                    // of the extension whose user has the chat
	handover     mcp.HandoverOptions                                       // the questions of the server, and the names of the session

	version, launch, follow, json    bool
	fix, force                       bool
	versionsURL, via                 string
	closeTimeout                     time.Duration // replaces Timing.CloseBrowser if not 0
	printPairing, printExtensionPath bool
}

// A flagGroup is a group of flags in the help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// defaultDataName is the name of the data directory in the user's home directory.
const defaultDataName = ".chrome-mcp"

// envPrefix is the prefix of the environment variables of flags.
const envPrefix = "CHROME_MCP_"

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// envOther maps additional variables to the flags that they set. The flag's own variable overrides
// them.
var envOther = map[string]string{"CHROME_MCP_USERDATA": "data", "CHROME_MCP_WS_PORT": "port"}

// define returns the settings with their default values, and their flags, in groups, that are also
// environment variables. The other flags select something other than serving; see newRoot.
func define() (*settings, []flagGroup) {
	s := &settings{
		sources:     map[string]string{},
		viewport:    viewport{1280, 720},
		maxDownload: executor.DefaultMaxDownloadBytes, maxDownloadTotal: download.DefaultTotal, maxResult: mcp.DefaultMaxResultBytes, maxOutputTotal: mcp.DefaultMaxOutputBytes,
	}
	var groups []flagGroup
	group := func(title string) *pflag.FlagSet {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		groups = append(groups, flagGroup{title, fs})
		return fs
	}

	fs := group("Allowed sites (none by default)")
	fs.StringArrayVar(&s.allowDomain, "allow-domain", nil, "allow `PATTERN`: example.com, *.example.com, http://shop.example; https unless it says http; localhost and 127.0.0.1 alone mean both, on any port; repeatable")
	fs.StringArrayVar(&s.blockDomain, "block-domain", nil, "block hosts that match `PATTERN` and their subdomains; overrides --allow-domain; repeatable")
	fs.StringVar(&s.policyFile, "policy", "", "read the policy from a JSON `FILE`; flags add to it")
	fs.StringArrayVar(&s.allowPrivate, "allow-private", nil, "let pages reach private addresses in `CIDR`, such as 10.0.0.0/8; repeatable")
	fs.Var(newChoice(&s.subresources, "public", "same", "list"), "subresources", "hosts that pages may load resources from: public (any public host), same (allowed sites only) or list (allowed sites and the listed hosts)")
	fs.BoolVar(&s.allDomains, "unsafe-all-domains", false, "allow all public hosts; a malicious page could direct the agent to any site")

	fs = group("Permissions (reading and navigation are always allowed on allowed sites)")
	fs.BoolVar(&s.mutations, "enable-mutations", false, "click, type, fill in forms, answer dialogs")
	fs.BoolVar(&s.downloads, "enable-downloads", false, "allow downloads to the downloads directory in --data")
	fs.BoolVar(&s.storage, "enable-storage", false, "allow reading and changing cookies and web storage")
	fs.BoolVar(&s.clipboard, "clipboard", false, "let the agent read and replace your clipboard with copy, cut and paste keys")
	fs.StringVar(&s.stateDir, "state-dir", "", "allow saving and loading storage state (cookies and local storage of allowed sites) in `DIR`")
	fs.StringVar(&s.state, "state", "", "load the storage state `NAME`, a file in --state-dir, into each browser that the session starts")
	fs.StringVar(&s.uploadsDir, "uploads-dir", "", "allow uploading files from `DIR`; also needs --enable-mutations")
	fs.StringVar(&s.serveDirectory, "serve-directory", "", "let pages load the files of `DIR`, read-only; chrome_status reports the URL")
	fs.BoolVar(&s.eval, "unsafe-enable-eval", false, "allow the agent to run JavaScript on allowed sites; defaults --subresources to same")

	fs.Var(&s.secrets, "secrets", "secrets that the agent may type without seeing them: comma-separated `NAMES`, all or none")
	fs.Var(newChoice(&s.ask, "auto", "never"), "ask", "prompt the user for missing permissions: auto (extension popup, else MCP elicitation) or never")

	fs = group("Limits")
	fs.Var(&s.maxDownload, "max-download", "maximum size of one download, such as 500KB, 20MB or 1GB")
	fs.Var(&s.maxDownloadTotal, "max-download-total", "maximum total size of downloads per browser instance")
	fs.Var(newNumber(&s.maxDownloads, download.DefaultParallel), "parallel-downloads", "maximum number of parallel downloads")
	fs.Var(newNumber(&s.maxTabs, executor.DefaultMaxTabs), "max-tabs", "maximum number of open tabs per session, including popups")
	fs.Var(newNumber(&s.maxCalls, mcp.DefaultCallsPerMinute), "max-calls", "maximum number of tool calls per minute")
	fs.Var(&s.maxResult, "max-result", "maximum size of one tool result")
	fs.Var(newNumber(&s.maxImage, mcp.DefaultMaxImage), "max-image", "scale and cut images in results to `PX` pixels a side; saved files have no such limit")
	fs.Var(&s.maxOutputTotal, "max-output-total", "maximum total size of the results that a session saves in files")

	fs = group("Browser")
	fs.StringVar(&s.browser, "browser", "", "launch browser `NAME|PATH`: chrome, brave, edge, chromium, chrome-for-testing or a path (default: the first one found)")
	fs.BoolVar(&s.headless, "headless", false, "run without a window; the default if there is no display")
	fs.BoolVar(&s.isolated, "isolated", false, "use a temporary profile")
	fs.StringVar(&s.profile, "profile", "default", "use the persistent profile `NAME`, stored in the profiles directory in --data")
	fs.BoolVar(&s.noSandbox, "no-sandbox", false, "disable the Chromium sandbox; required when running as root")
	fs.Var(&s.viewport, "viewport", "viewport size in CSS pixels")
	fs.Var(checkedList{&s.browserArgs, addBrowserArg}, "browser-arg", "pass `ARG`, such as --accept-lang=de, to a launched browser; see docs/install.md; repeatable")
	fs.StringVar(&s.proxy, "proxy", "", "upstream HTTP proxy `URL`, or none (default: HTTPS_PROXY or HTTP_PROXY, except for NO_PROXY hosts)")
	fs.StringVar(&s.httpCredentials, "http-credentials", "", "JSON `FILE` with user names and passwords for HTTP authentication, by origin; mode 0600")
	fs.Var(checkedList{&s.acceptCertificates, addCertificateHost}, "accept-certificate", "accept an untrusted certificate of `HOST[:PORT]` (default port 443) in a managed browser; repeatable")
	fs.DurationVar(&s.idleBrowser, "idle-browser", 0, "close a headless browser after `DURATION` without calls, such as 30m (default: never)")
	fs.StringVar(&s.cdpEndpoint, "cdp-endpoint", "", "attach to a browser at its DevTools `URL`, or to auto, chrome, edge, brave or chromium; it is never closed")
	fs.BoolVar(&s.attachDefaultContext, "attach-default-context", false, "with --cdp-endpoint: use the default browser context, with its tabs and logins")
	fs.StringVar(&s.egressAddress, "egress-address", "", "`ADDRESS` at which browsers of browserless reach the egress proxy, such as 10.0.0.5:3129")
	fs.StringVar(&s.cdpListen, "cdp-listen", "", "let CDP clients such as Playwright drive the browser: listen on loopback `ADDRESS`, such as 127.0.0.1:0 for a free port; also needs --unsafe-enable-eval")
	fs.Var(newChoice(&s.cdpClients, cdpMulti, cdpSingle), "cdp-clients", "CDP clients at the same time: multi or single; enables them in a session of the server")
	fs.Var(newChoice(&s.prefer, "extension", "cdp"), "prefer", "preferred backend: extension (the user's Chrome, while connected) or cdp (a managed Chromium; no extension can connect)")
	fs.BoolVar(&s.noCDPFallback, "no-cdp-fallback", false, "never launch or attach to a Chromium while no extension is connected")
	fs.Var(&s.port, "port", "loopback `PORT` for the extension; 0 picks a free port (default: first free port from 38017 to 38032)")
	fs.StringVar(&s.data, "data", "", "store profiles, downloads and saved results in `DIR` (default ~/.chrome-mcp)")

	fs = group("Sessions of the server (see chrome-mcp help serve)")
	fs.StringVar(&s.session, "session", server.DefaultSession, "session `NAME` of the server")
	fs.StringVar(&s.connect, "connect", "", "serve MCP on stdin and stdout with a session of the server at `SOCKET|URL`")
	fs.StringVar(&s.connectToken, "connect-token-file", "", "with --connect URL: read the token from `FILE`")
	fs.StringVar(&s.principalFile, "principal-file", "", "with --connect SOCKET: read the token of a session that the server opened from `FILE`")
	fs.BoolVar(&s.connectHTTP, "unsafe-connect-http", false, "with --connect URL: send the token over http to another machine, where others on the network can read it")
	fs.BoolVar(&s.noServer, "no-server", false, "launch a browser for this command only, without the server")

	fs = group("Tools, output and logging")
	fs.Var(&s.tools, "tools", "comma-separated toolsets: core, batch, files, input, devtools, storage, people, or all")
	fs.BoolVar(&s.structured, "structured", false, "add structured results and output schemas, for programs")
	fs.Var(newChoice(&s.afterAction, "diff", "snapshot", "none"), "after-action", "page changes that actions report: diff, snapshot or none")
	fs.Var(&s.logLevel, "log-level", "minimum log level: debug, info, warn or error")
	fs.StringVar(&s.logFile, "log-file", "", "append the log to `FILE` instead of stderr")
	fs.StringVar(&s.config, "config", "", "read settings, which other flags and variables override, from `FILE`, or none (default: config.json in your configuration directory, if it exists)")
	fs.StringVar(&s.auditLog, "audit-log", "", "append one JSON line per call to `FILE`, without page text or arguments; tools that act fail while it cannot be written; print it with chrome-mcp audit")
	return s, groups
}

// load completes the settings from the flags of the command line, the environment and the
// configuration file. Flags override variables, which override the file. All errors are of type
// *usageError.
func (s *settings) load(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	s.given = flags.Changed
	if err := s.fromEnvironment(flags, groups, environ); err != nil {
		return err
	}
	if err := s.fromConfig(flags, groups); err != nil {
		return err
	}
	var empty error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			empty = usagef("Set a value or omit the flag.", "%s is empty", s.nameOf(f.Name))
		}
	})
	s.proxyFromEnvironment(environ)
	return cmp.Or(empty, s.complete())
}

// loadData completes the settings from the flags of the command line and the variables of the data
// directory only. What stops the agent must work while other settings are wrong.
func (s *settings) loadData(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	s.config = noConfig
	return s.load(flags, groups, slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, envPrefix) && name != envName("data") && envOther[name] != "data"
	}))
}

// variablePrefix precedes the name of an environment variable in settings.sources.
const variablePrefix = "environment variable "

// nameOf returns the name by which the user set a flag: the flag, its variable, or the name and
// position of a setting in the configuration file.
func (s *settings) nameOf(flag string) string {
	source := s.sources[flag]
	switch {
	case source == "":
		return "--" + flag
	case strings.HasPrefix(source, variablePrefix):
		return source
	}
	return flag + " at " + source
}

// fromEnvironment sets the flags that are not on the command line from their variables.
//
// An unknown variable is an error: it may be a misspelled policy rule.
func (s *settings) fromEnvironment(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	flagOf := map[string]*pflag.Flag{}
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) { flagOf[envName(f.Name)] = f })
	}
	for name, flag := range envOther {
		flagOf[name] = flags.Lookup(flag)
	}

	variables := variablesIn(environ)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		flag, value := flagOf[name], variables[name]
		switch {
		case flag == nil:
			return usagef("Unset it. `chrome-mcp help flags` lists the flags; each is also a variable.",
				"unknown environment variable %s", name).suggest(name, flagOf)
		case flag.Changed: // on the command line, or by its own variable, whose name sorts first
			continue
		case value == "":
			return usagef("Set a value, or unset it.", "environment variable %s is empty", name)
		}
		values := []string{value}
		if flag.Value.Type() == "stringArray" {
			separators := ", \n\t"
			if flag.Name == "browser-arg" {
				separators = " \n\t" // the value of an argument can have commas
			}
			values = strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(separators, r) })
		}
		if len(values) == 0 {
			return usagef("Set a list, or unset it.", "environment variable %s is an empty list", name)
		}
		for _, v := range values {
			if err := flags.Set(flag.Name, v); err != nil {
				return usagef("It sets --"+flag.Name+"; see `chrome-mcp help flags`.",
					"environment variable %s: %s", name, reason(err))
			}
		}
		s.sources[flag.Name] = variablePrefix + name
	}
	return nil
}

// variablesIn returns the values of the variables in an environment, which has the form of
// os.Environ.
func variablesIn(environ []string) map[string]string {
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	return values
}

// proxyFromEnvironment sets the proxy from HTTPS_PROXY or HTTP_PROXY unless --proxy is set.
func (s *settings) proxyFromEnvironment(environ []string) {
	switch s.proxy {
	case "none":
		s.proxy = ""
	case "":
		values := variablesIn(environ)
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			if values[name] != "" {
				s.proxy, s.sources["proxy"] = values[name], variablePrefix+name
				s.noProxy = cmp.Or(values["NO_PROXY"], values["no_proxy"])
				return
			}
		}
	}
}

// exclusiveFlags are pairs of flags that exclude each other.
var exclusiveFlags = [][2]string{
	{"isolated", "profile"}, {"cdp-endpoint", "browser"}, {"cdp-endpoint", "isolated"}, {"cdp-endpoint", "profile"},
	{"cdp-endpoint", "cdp-listen"}, {"cdp-endpoint", "cdp-clients"}, {"cdp-endpoint", "state"},
	{"cdp-endpoint", "browser-arg"}, {"cdp-endpoint", "accept-certificate"},
	{"http-credentials", "cdp-endpoint"}, {"http-credentials", "cdp-listen"}, {"http-credentials", "cdp-clients"},
}

// complete checks combinations of flags and sets defaults that depend on the environment.
func (s *settings) complete() error {
	if s.profile == "" || s.profile != filepath.Base(s.profile) || strings.HasPrefix(s.profile, ".") || strings.ContainsAny(s.profile, `/\`) {
		return usagef("Use a simple name, such as work.", "%s: invalid name %q", s.nameOf("profile"), s.profile)
	}
	for _, pair := range exclusiveFlags {
		if s.given(pair[0]) && s.given(pair[1]) {
			return usagef("Set only one of them.", "%s and %s are mutually exclusive", s.nameOf(pair[0]), s.nameOf(pair[1]))
		}
	}
	if err := s.checkBrowsers(); err != nil {
		return err
	}
	if err := s.checkCDPListen(); err != nil {
		return err
	}
	if s.idleBrowser < 0 {
		return usagef("Set a duration such as 30m, or 0 for never.", "%s: %v is negative", s.nameOf("idle-browser"), s.idleBrowser)
	}
	if s.egressAddress != "" {
		var err error
		if s.remoteEgress, err = chromium.NewRemoteEgress(s.egressAddress); err != nil {
			return s.flagValueError("egress-address", err)
		}
	}
	if s.attachDefaultContext && s.cdpEndpoint == "" {
		return usagef("", "%s needs --cdp-endpoint", s.nameOf("attach-default-context"))
	}
	if s.data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return usagef("Set --data, or the variable HOME.", "no data directory: %v", err)
		}
		s.data = filepath.Join(home, defaultDataName)
	}
	for flag, path := range map[string]*string{"data": &s.data, "state-dir": &s.stateDir, "uploads-dir": &s.uploadsDir, "serve-directory": &s.serveDirectory, "http-credentials": &s.httpCredentials} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return usagef("", "%s: %v", s.nameOf(flag), err)
		}
		*path = absolute
	}
	return nil
}

// flagError converts an error of pflag to a *usageError.
func (s *settings) flagError(cmd *cobra.Command, err error) error {
	const hint = "`chrome-mcp help flags` lists the flags."
	var (
		missing *pflag.NotExistError
		invalid *pflag.InvalidValueError
		noValue *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &missing):
		name := "--" + missing.GetSpecifiedName()
		if short := missing.GetSpecifiedShortnames(); short != "" {
			name = "-" + short
			for _, arg := range s.args { // short lacks its leading letters that are valid flags
				if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, short) {
					name = arg
					break
				}
			}
		}
		if err := misplaced(cmd, missing.GetSpecifiedName()); err != nil {
			return err
		}
		known := map[string]*pflag.Flag{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = f })
		return usagef(hint, "unknown flag %s", name).suggest("--"+strings.TrimLeft(name, "-"), known)
	case errors.As(err, &invalid):
		return usagef(hint, "--%s: %s", invalid.GetFlag().Name, reason(err))
	case errors.As(err, &noValue):
		return usagef(hint, "--%s needs a value", noValue.GetSpecifiedName())
	}
	return usagef(hint, "%v", err)
}

// reason returns what is wrong with a flag value, without pflag's wording.
func reason(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	if invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Sprintf("invalid boolean %q", invalid.GetValue())
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return fmt.Sprintf("%q is not a number", invalid.GetValue())
	}
	return cmp.Or(errors.Unwrap(invalid), err).Error()
}

// A usageError is a mistake in flags, environment or policy. The program exits with code 2, or with
// exit if that is not 0.
type usageError struct {
	err  error
	hint string
	exit int
}

// exitCode returns the exit code of the program.
func (e *usageError) exitCode() int { return cmp.Or(e.exit, exitUsage) }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(hint, format string, args ...any) *usageError {
	return &usageError{err: fmt.Errorf(format, args...), hint: hint}
}

// badCallf returns the error for a call of a tool that is not valid. Its exit code is that of
// BAD_ARGS, which a server returns for other mistakes in a call.
func badCallf(hint, format string, args ...any) *usageError {
	e := usagef(hint, format, args...)
	e.exit = errclass.ExitBadArgs
	return e
}

// suggest adds the known name that is most similar to given to the hint.
func (e *usageError) suggest(given string, known map[string]*pflag.Flag) *usageError {
	best := typo.Nearest(given, maps.Keys(known))
	if best == "" { // a word may be missing, as in --mutations, or superfluous
		word := strings.TrimPrefix(given, "--")
		for name := range known {
			if len(word) < 4 || !strings.Contains(name, word) && !strings.Contains(word, strings.TrimPrefix(name, "--")) {
				continue
			}
			if best == "" || len(name) < len(best) || len(name) == len(best) && name < best {
				best = name
			}
		}
	}
	return e.didYouMean(best)
}

// didYouMean adds a name to the hint, unless it is empty.
func (e *usageError) didYouMean(name string) *usageError {
	if name != "" {
		e.hint = fmt.Sprintf("Did you mean %s? %s", name, e.hint)
	}
	return e
}
