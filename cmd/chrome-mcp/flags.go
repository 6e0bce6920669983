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
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// settings are the values of the flags and environment variables.
type settings struct {
	args    []string               // command line
	given   func(flag string) bool // reports whether the flag or its variable was set
	sources map[string]string      // maps each flag that a variable set to that variable

	// Allowed sites, permissions and limits.
	allowDomain, blockDomain, allowPrivate []string
	policyFile, uploadsDir, stateDir       string
	allDomains, mutations, downloads, eval bool
	storage                                bool
	subresources, ask                      string
	maxDownload, maxDownloadTotal          byteSize
	maxResult                              byteSize
	maxDownloads, maxTabs, maxCalls        int

	// Browser.
	browser, profile, cdpEndpoint, prefer, proxy, noProxy, data string
	headless, isolated, noSandbox                               bool
	attachDefaultContext, noCDPFallback                         bool
	viewport                                                    viewport
	port                                                        portFlag

	// Server of call and shell.
	session, connect string
	connectToken     string // file
	noServer         bool
	pool             *chromium.Pool                      // of the sessions with temporary profiles; nil outside of the server
	observe          func(audit.Recorder) audit.Recorder // adds an observer to the audit log; may be nil
	outputName       string                              // directory of the session in the output directory; empty without the server

	// Tools, output and logging.
	tools       toolsets
	structured  bool
	afterAction string
	logLevel    logLevel
	logFile     string
	auditLog    string

	// Set by the server for a session.
	limit       func(context.Context) (release func(), err error) // mcp.Options.Limit
	wrapBackend func(executor.Backend) executor.Backend           // nil means no wrapper

	version, launch, follow, json    bool
	closeTimeout                     time.Duration // replaces the constant closeTimeout if not 0
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
		maxDownload: executor.DefaultMaxDownloadBytes, maxDownloadTotal: download.DefaultTotal, maxResult: mcp.DefaultMaxResultBytes,
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
	fs.StringVar(&s.stateDir, "state-dir", "", "allow saving and loading storage state (cookies and local storage of allowed sites) in `DIR`")
	fs.StringVar(&s.uploadsDir, "uploads-dir", "", "allow uploading files from `DIR`; also needs --enable-mutations")
	fs.BoolVar(&s.eval, "unsafe-enable-eval", false, "allow the agent to run JavaScript on allowed sites; defaults --subresources to same")

	fs.Var(newChoice(&s.ask, "auto", "never"), "ask", "prompt the user for missing permissions: auto (extension popup, else MCP elicitation) or never")

	fs = group("Limits")
	fs.Var(&s.maxDownload, "max-download", "maximum size of one download, such as 500KB, 20MB or 1GB")
	fs.Var(&s.maxDownloadTotal, "max-download-total", "maximum total size of downloads per browser instance")
	fs.Var(newNumber(&s.maxDownloads, download.DefaultParallel), "parallel-downloads", "maximum number of parallel downloads")
	fs.Var(newNumber(&s.maxTabs, executor.DefaultMaxTabs), "max-tabs", "maximum number of open tabs per session, including popups")
	fs.Var(newNumber(&s.maxCalls, mcp.DefaultCallsPerMinute), "max-calls", "maximum number of tool calls per minute")
	fs.Var(&s.maxResult, "max-result", "maximum size of one tool result")

	fs = group("Browser")
	fs.StringVar(&s.browser, "browser", "", "launch browser `NAME|PATH`: chrome, brave, edge, chromium or a path (default: the first one found)")
	fs.BoolVar(&s.headless, "headless", false, "run without a window; the default if there is no display")
	fs.BoolVar(&s.isolated, "isolated", false, "use a temporary profile")
	fs.StringVar(&s.profile, "profile", "default", "use the persistent profile `NAME`, stored in the profiles directory in --data")
	fs.BoolVar(&s.noSandbox, "no-sandbox", false, "disable the Chromium sandbox; required when running as root")
	fs.Var(&s.viewport, "viewport", "viewport size in CSS pixels")
	fs.StringVar(&s.proxy, "proxy", "", "upstream HTTP proxy `URL`, or none (default: HTTPS_PROXY or HTTP_PROXY, except for NO_PROXY hosts)")
	fs.StringVar(&s.cdpEndpoint, "cdp-endpoint", "", "attach to a running browser at its DevTools `URL` (http or ws); it is never closed")
	fs.BoolVar(&s.attachDefaultContext, "attach-default-context", false, "with --cdp-endpoint: use the default browser context, with its tabs and logins")
	fs.Var(newChoice(&s.prefer, "extension", "cdp"), "prefer", "preferred backend: extension (the user's Chrome, while connected) or cdp (a managed Chromium; no extension can connect)")
	fs.BoolVar(&s.noCDPFallback, "no-cdp-fallback", false, "never launch or attach to a Chromium while no extension is connected")
	fs.Var(&s.port, "port", "loopback `PORT` for the extension; 0 picks a free port (default: first free port from 38017 to 38032)")
	fs.StringVar(&s.data, "data", "", "store profiles, downloads and saved results in `DIR` (default ~/.chrome-mcp)")

	fs = group("Sessions of the server (see chrome-mcp help serve)")
	fs.StringVar(&s.session, "session", server.DefaultSession, "session `NAME` of the server")
	fs.StringVar(&s.connect, "connect", "", "serve MCP on stdin and stdout with a session of the server at `SOCKET|URL`")
	fs.StringVar(&s.connectToken, "connect-token-file", "", "with --connect URL: read the token from `FILE`")
	fs.BoolVar(&s.noServer, "no-server", false, "launch a browser for this command only, without the server")

	fs = group("Tools, output and logging")
	fs.Var(&s.tools, "tools", "comma-separated toolsets: core, batch, files, input, devtools, storage, or all")
	fs.BoolVar(&s.structured, "structured", false, "add structured results and output schemas, for programs")
	fs.Var(newChoice(&s.afterAction, "diff", "snapshot", "none"), "after-action", "page changes that actions report: diff, snapshot or none")
	fs.Var(&s.logLevel, "log-level", "minimum log level: debug, info, warn or error")
	fs.StringVar(&s.logFile, "log-file", "", "append the log to `FILE` instead of stderr")
	fs.StringVar(&s.auditLog, "audit-log", "", "append one JSON line per call to `FILE`, without page text or arguments; tools that act fail while it cannot be written; print it with chrome-mcp audit")
	return s, groups
}

// load completes the settings from the flags of the command line and the environment. Flags override
// variables. All errors are of type *usageError.
func (s *settings) load(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	s.given = flags.Changed
	if err := s.fromEnvironment(flags, groups, environ); err != nil {
		return err
	}
	var empty error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			empty = usagef("Set a value or omit the flag.", "%s is empty", s.flagOrVariable(f.Name))
		}
	})
	s.proxyFromEnvironment(environ)
	return cmp.Or(empty, s.complete())
}

// flagOrVariable returns the name by which the user set a flag: the flag or its variable.
func (s *settings) flagOrVariable(flag string) string {
	if variable := s.sources[flag]; variable != "" {
		return "environment variable " + variable
	}
	return "--" + flag
}

// fromEnvironment sets the flags that are not on the command line from their variables.
//
// An unknown variable is an error: it may be a misspelled policy rule.
func (s *settings) fromEnvironment(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	fromFlags := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { fromFlags[f.Name] = true })

	flagOf := map[string]*pflag.Flag{}
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) { flagOf[envName(f.Name)] = f })
	}
	for name, flag := range envOther {
		flagOf[name] = flags.Lookup(flag)
	}

	set := map[string]bool{}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		set[name] = true
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		flag := flagOf[name]
		switch {
		case flag == nil:
			return usagef("Unset it. `chrome-mcp help flags` lists the flags; each is also a variable.",
				"unknown environment variable %s", name).suggest(name, flagOf)
		case fromFlags[flag.Name], envOther[name] != "" && set[envName(flag.Name)]:
			continue
		case value == "":
			return usagef("Set a value, or unset it.", "environment variable %s is empty", name)
		}
		values := []string{value}
		if flag.Value.Type() == "stringArray" {
			values = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
		}
		if len(values) == 0 {
			return usagef("Set a comma-separated list, or unset it.", "environment variable %s is an empty list", name)
		}
		for _, v := range values {
			if err := flags.Set(flag.Name, v); err != nil {
				return usagef("It sets --"+flag.Name+"; see `chrome-mcp help flags`.",
					"environment variable %s: %s", name, reason(err))
			}
		}
		s.sources[flag.Name] = name
	}
	return nil
}

// proxyFromEnvironment sets the proxy from HTTPS_PROXY or HTTP_PROXY unless --proxy is set.
func (s *settings) proxyFromEnvironment(environ []string) {
	switch s.proxy {
	case "none":
		s.proxy = ""
	case "":
		values := map[string]string{}
		for _, entry := range environ {
			name, value, _ := strings.Cut(entry, "=")
			values[name] = value
		}
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			if values[name] != "" {
				s.proxy, s.sources["proxy"] = values[name], name
				s.noProxy = cmp.Or(values["NO_PROXY"], values["no_proxy"])
				return
			}
		}
	}
}

// complete checks combinations of flags and sets defaults that depend on the environment.
func (s *settings) complete() error {
	if s.profile == "" || s.profile != filepath.Base(s.profile) || strings.HasPrefix(s.profile, ".") || strings.ContainsAny(s.profile, `/\`) {
		return usagef("Use a simple name, such as work.", "%s: invalid name %q", s.flagOrVariable("profile"), s.profile)
	}
	for _, pair := range [][2]string{
		{"isolated", "profile"}, {"cdp-endpoint", "browser"}, {"cdp-endpoint", "isolated"}, {"cdp-endpoint", "profile"},
	} {
		if s.given(pair[0]) && s.given(pair[1]) {
			return usagef("Set only one of them.", "%s and %s are mutually exclusive", s.flagOrVariable(pair[0]), s.flagOrVariable(pair[1]))
		}
	}
	if s.attachDefaultContext && s.cdpEndpoint == "" {
		return usagef("", "%s needs --cdp-endpoint", s.flagOrVariable("attach-default-context"))
	}
	if s.data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return usagef("Set --data, or the variable HOME.", "no data directory: %v", err)
		}
		s.data = filepath.Join(home, defaultDataName)
	}
	var err error
	if s.data, err = filepath.Abs(s.data); err != nil {
		return usagef("", "%s: %v", s.flagOrVariable("data"), err)
	}
	if s.stateDir != "" {
		if s.stateDir, err = filepath.Abs(s.stateDir); err != nil {
			return usagef("", "%s: %v", s.flagOrVariable("state-dir"), err)
		}
	}
	if s.uploadsDir != "" {
		if s.uploadsDir, err = filepath.Abs(s.uploadsDir); err != nil {
			return usagef("", "%s: %v", s.flagOrVariable("uploads-dir"), err)
		}
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
	return cmp.Or(errors.Unwrap(invalid), err).Error()
}

// A usageError is a mistake in flags, environment or policy. The program exits with code 2.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(hint, format string, args ...any) *usageError {
	return &usageError{fmt.Errorf(format, args...), hint}
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
	if best != "" {
		e.hint = fmt.Sprintf("Did you mean %s? %s", best, e.hint)
	}
	return e
}
