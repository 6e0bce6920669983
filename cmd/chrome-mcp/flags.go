package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// settings are what the flags and the environment say.
type settings struct {
	command []string               // the words that are no flags, such as doctor; none means serve
	given   func(flag string) bool // whether flag or variable was set
	sources map[string]string      // the variable that set a flag, for those that one did

	// Where the agent may go and what it may do.
	allowDomain, blockDomain, allowPrivate []string
	policyFile, uploadsDir, stateDir       string
	allDomains, mutations, downloads, eval bool
	storage                                bool
	subresources, ask                      string
	maxDownload, maxDownloadTotal          byteSize
	maxResult                              byteSize
	maxDownloads, maxTabs, maxCalls        int

	// The browser.
	browser, profile, cdpEndpoint, prefer, proxy, noProxy, data string
	headless, isolated, noSandbox                               bool
	attachDefaultContext, noCDPFallback                         bool
	viewport                                                    viewport
	port                                                        portFlag

	// Tools, results and logs.
	tools       toolsets
	structured  bool
	afterAction string
	logLevel    logLevel
	logFile     string
	auditLog    string

	help, version, launch            bool
	follow, json                     bool
	closeTimeout                     time.Duration // instead of closeTimeout, when not 0
	printPairing, printExtensionPath bool
}

// A flagGroup is a part of the help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// defaultDataName is the data folder in the user's home.
const defaultDataName = ".chrome-mcp"

// envPrefix begins the environment variable of each flag.
const envPrefix = "CHROME_MCP_"

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// envOther maps further variables to the flag that they set when its own
// variable does not.
var envOther = map[string]string{"CHROME_MCP_USERDATA": "data", "CHROME_MCP_WS_PORT": "port"}

// notFromEnv are the flags that have no environment variable: they make the
// program do something else than serve.
var notFromEnv = []string{"help", "version", "launch", "follow", "json", "print-pairing", "print-extension-path"}

// define returns the flags of the program, in groups, set to their defaults.
func define() (*settings, []flagGroup) {
	s := &settings{
		sources:     map[string]string{},
		viewport:    viewport{1280, 720},
		maxDownload: 100 << 20, maxDownloadTotal: download.DefaultTotal, maxResult: mcp.DefaultMaxResultBytes,
	}
	var groups []flagGroup
	group := func(title string) *pflag.FlagSet {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		groups = append(groups, flagGroup{title, fs})
		return fs
	}

	fs := group("Where the agent may go (nothing is allowed by default)")
	fs.StringArrayVar(&s.allowDomain, "allow-domain", nil, "allow `PATTERN`: example.com, *.example.com, http://shop.example; https unless it says http; localhost and 127.0.0.1 alone mean both, on any port; repeatable")
	fs.StringArrayVar(&s.blockDomain, "block-domain", nil, "deny hosts that match `PATTERN`, their subdomains too; beats --allow-domain; repeatable")
	fs.StringVar(&s.policyFile, "policy", "", "read rules and grants from `FILE`, in JSON; flags add to it")
	fs.StringArrayVar(&s.allowPrivate, "allow-private", nil, "let pages reach private addresses in `CIDR`, such as 10.0.0.0/8; repeatable")
	fs.Var(newChoice(&s.subresources, "public", "same", "list"), "subresources", "what pages may load: from any public host, from the same hosts as the agent may go to, or from the list only")
	fs.BoolVar(&s.allDomains, "unsafe-all-domains", false, "allow every public host: whatever a page says may send the agent anywhere")

	fs = group("What it may do there (reading and navigating need no more)")
	fs.BoolVar(&s.mutations, "enable-mutations", false, "click, type, fill in forms, answer dialogs")
	fs.BoolVar(&s.downloads, "enable-downloads", false, "save files, into the folder downloads of --data")
	fs.BoolVar(&s.storage, "enable-storage", false, "read the values of cookies and of local and session storage, and change those")
	fs.StringVar(&s.stateDir, "state-dir", "", "save logins (cookies and local storage of allowed sites) in files of this folder, `DIR`, and load them, when the agent asks for it")
	fs.StringVar(&s.uploadsDir, "uploads-dir", "", "give pages files of this folder, `DIR`, when the agent asks for it; it takes --enable-mutations too")
	fs.BoolVar(&s.eval, "unsafe-enable-eval", false, "run JavaScript of the agent's in allowed pages; makes --subresources same unless that is given, so that pages load from allowed hosts only")

	fs.Var(newChoice(&s.ask, "auto", "never"), "ask", "when a call is denied that the user may permit (a public site, changing pages, downloads), ask in the popup of the extension, or through hosts that can; or never")

	fs = group("Limits (generous: what goes beyond them is a mistake or an attack)")
	fs.Var(&s.maxDownload, "max-download", "refuse larger files; with its unit, in powers of 1024: 500KB, 20MB, 1GB")
	fs.Var(&s.maxDownloadTotal, "max-download-total", "refuse files that would make the downloads of one run of a browser larger in sum")
	fs.Var(newNumber(&s.maxDownloads, download.DefaultParallel), "parallel-downloads", "how many may run at the same time")
	fs.Var(newNumber(&s.maxTabs, executor.DefaultMaxTabs), "max-tabs", "tabs that the agent may have open, with those that its pages open")
	fs.Var(newNumber(&s.maxCalls, mcp.DefaultCallsPerMinute), "max-calls", "calls in a minute")
	fs.Var(&s.maxResult, "max-result", "refuse to answer a call with more")

	fs = group("Which browser")
	fs.StringVar(&s.browser, "browser", "", "use `NAME|PATH`: chrome, brave, edge, chromium or a path; by default the first of them that is found")
	fs.BoolVar(&s.headless, "headless", false, "run without a window; the default where there is no display")
	fs.BoolVar(&s.isolated, "isolated", false, "use a profile for this run only, and remove it at the end")
	fs.StringVar(&s.profile, "profile", "default", "keep logins and cookies in the profile `NAME`, a folder in profiles of --data")
	fs.BoolVar(&s.noSandbox, "no-sandbox", false, "run Chromium without its sandbox, as it must be for root")
	fs.Var(&s.viewport, "viewport", "size of pages in CSS pixels")
	fs.StringVar(&s.proxy, "proxy", "", "go out through the HTTP proxy at `URL`; by default that of HTTPS_PROXY or HTTP_PROXY, but for the hosts of NO_PROXY; none: through no proxy")
	fs.StringVar(&s.cdpEndpoint, "cdp-endpoint", "", "use a browser that runs already, at the http or ws `URL` of its DevTools; it is never closed")
	fs.BoolVar(&s.attachDefaultContext, "attach-default-context", false, "with --cdp-endpoint: use its open tabs and logins instead of a fresh context")
	fs.Var(newChoice(&s.prefer, "extension", "cdp"), "prefer", "browser to use when both are there: extension, the user's own Chrome while its extension is connected; or cdp, the one that is launched, and then no extension can connect")
	fs.BoolVar(&s.noCDPFallback, "no-cdp-fallback", false, "never launch or attach to a Chromium while no extension is connected")
	fs.Var(&s.port, "port", "listen on this `PORT` of 127.0.0.1 for the extension; 0 is any free one (default the first free of 38017 to 38032)")
	fs.StringVar(&s.data, "data", "", "keep profiles and downloads in `FOLDER` (default ~/.chrome-mcp)")

	fs = group("Tools, results and logs")
	fs.Var(&s.tools, "tools", "offer the tools of these toolsets: core, batch, files, input, devtools, storage, or all; `LIST` with commas")
	fs.BoolVar(&s.structured, "structured", false, "add structured results and output schemas, for programs")
	fs.Var(newChoice(&s.afterAction, "diff", "snapshot", "none"), "after-action", "what actions report of the page: diff, snapshot or none")
	fs.Var(&s.logLevel, "log-level", "log from this level on: debug, info, warn or error")
	fs.StringVar(&s.logFile, "log-file", "", "append the log to `FILE` instead of stderr")
	fs.StringVar(&s.auditLog, "audit-log", "", "append what agents do to `FILE`, a line each, without page text and arguments; while it cannot be written, tools that act are refused; chrome-mcp audit prints it")

	fs = group("Other")
	fs.BoolVar(&s.launch, "launch", false, "with doctor: start the browser and drive one page")
	fs.BoolVar(&s.follow, "follow", false, "with audit: print the last lines, and new ones as they come")
	fs.BoolVar(&s.json, "json", false, "with audit: print the lines as they are; with call and shell: print results as JSON, a line each")
	fs.BoolVar(&s.printPairing, "print-pairing", false, "make a string that pairs the extension with the servers of --data, and print the path of its file")
	fs.BoolVar(&s.printExtensionPath, "print-extension-path", false, "print the folder of the extension, as chrome-mcp extension path does")
	fs.BoolVar(&s.version, "version", false, "print the version")
	fs.BoolVarP(&s.help, "help", "h", false, "print a short help")
	return s, groups
}

// parse reads flags and environment. A flag beats its variable. The error is
// a *usageError.
func parse(args, environ []string) (*settings, error) {
	s, groups := define()
	all := pflag.NewFlagSet("chrome-mcp", pflag.ContinueOnError)
	all.Usage = func() {} // the caller prints what is to be printed
	for _, g := range groups {
		all.AddFlagSet(g.flags)
	}
	if err := all.Parse(args); err != nil {
		return nil, flagError(all, args, err)
	}
	s.given = all.Changed
	s.command = all.Args()
	if s.help || s.version {
		return s, nil // whatever else is wrong, these help
	}
	if err := s.fromEnvironment(all, environ); err != nil {
		return nil, err
	}
	var empty error
	all.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			empty = usagef("Give it a value, or leave it out.", "%s is empty", s.named(f.Name))
		}
	})
	s.proxyFromEnvironment(environ)
	return s, cmp.Or(empty, s.complete())
}

// named returns a flag as the user wrote it: the flag, or its variable.
func (s *settings) named(flag string) string {
	if variable := s.sources[flag]; variable != "" {
		return "environment variable " + variable
	}
	return "--" + flag
}

// fromEnvironment sets the flags that were not given from their variables.
//
// A variable that nobody knows is an error and not ignored: it may be a
// misspelt rule of the policy.
func (s *settings) fromEnvironment(all *pflag.FlagSet, environ []string) error {
	fromFlags := map[string]bool{}
	all.Visit(func(f *pflag.Flag) { fromFlags[f.Name] = true })

	flagOf := map[string]*pflag.Flag{}
	all.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notFromEnv, f.Name) {
			flagOf[envName(f.Name)] = f
		}
	})
	for name, flag := range envOther {
		flagOf[name] = all.Lookup(flag)
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
				"environment variable %s is not known", name).suggest(name, flagOf)
		case fromFlags[flag.Name], envOther[name] != "" && set[envName(flag.Name)]:
			continue
		case value == "":
			return usagef("Give it a value, or unset it.", "environment variable %s is empty", name)
		}
		values := []string{value}
		if flag.Value.Type() == "stringArray" {
			values = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
		}
		if len(values) == 0 {
			return usagef("Give it a list with commas, or unset it.", "environment variable %s has nothing in its list", name)
		}
		for _, v := range values {
			if err := all.Set(flag.Name, v); err != nil {
				return usagef("It is --"+flag.Name+" as a variable; `chrome-mcp help flags` tells what that takes.",
					"environment variable %s: %s", name, reason(err))
			}
		}
		s.sources[flag.Name] = name
	}
	return nil
}

// proxyFromEnvironment takes the proxy that other programs use too where no
// flag names one, or none.
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

// complete checks what depends on several flags and fills in defaults.
func (s *settings) complete() error {
	if s.profile == "" || s.profile != filepath.Base(s.profile) || strings.HasPrefix(s.profile, ".") || strings.ContainsAny(s.profile, `/\`) {
		return usagef("Use a plain name, such as work.", "%s: %q is not a name", s.named("profile"), s.profile)
	}
	for _, pair := range [][2]string{
		{"isolated", "profile"}, {"cdp-endpoint", "browser"}, {"cdp-endpoint", "isolated"}, {"cdp-endpoint", "profile"},
	} {
		if s.given(pair[0]) && s.given(pair[1]) {
			return usagef("Give only one of them.", "%s and %s exclude each other", s.named(pair[0]), s.named(pair[1]))
		}
	}
	if s.attachDefaultContext && s.cdpEndpoint == "" {
		return usagef("", "%s needs --cdp-endpoint", s.named("attach-default-context"))
	}
	if s.data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return usagef("Set --data, or the variable HOME.", "no data folder: %v", err)
		}
		s.data = filepath.Join(home, defaultDataName)
	}
	var err error
	if s.data, err = filepath.Abs(s.data); err != nil {
		return usagef("", "%s: %v", s.named("data"), err)
	}
	if s.stateDir != "" {
		if s.stateDir, err = filepath.Abs(s.stateDir); err != nil {
			return usagef("", "%s: %v", s.named("state-dir"), err)
		}
	}
	if s.uploadsDir != "" {
		if s.uploadsDir, err = filepath.Abs(s.uploadsDir); err != nil {
			return usagef("", "%s: %v", s.named("uploads-dir"), err)
		}
	}
	return nil
}

// flagError turns what pflag says of args into a *usageError.
func flagError(all *pflag.FlagSet, args []string, err error) *usageError {
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
			for _, arg := range args { // short lacks the letters that are flags
				if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, short) {
					name = arg
					break
				}
			}
		}
		known := map[string]*pflag.Flag{}
		all.VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = f })
		return usagef(hint, "unknown flag %s", name).suggest("--"+strings.TrimLeft(name, "-"), known)
	case errors.As(err, &invalid):
		return usagef(hint, "--%s: %s", invalid.GetFlag().Name, reason(err))
	case errors.As(err, &noValue):
		return usagef(hint, "--%s needs a value", noValue.GetSpecifiedName())
	}
	return usagef(hint, "%v", err)
}

// reason returns what is wrong with a value, in our own words.
func reason(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	if invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Sprintf("%q is neither true nor false", invalid.GetValue())
	}
	return cmp.Or(errors.Unwrap(invalid), err).Error()
}

// A usageError is a mistake in flags, environment or policy. The program
// ends with exit code 2.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(hint, format string, args ...any) *usageError {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// suggest adds the known name that is nearest to the one given.
func (e *usageError) suggest(given string, known map[string]*pflag.Flag) *usageError {
	best, least := "", 3 // a name with three typing errors is another name
	for name := range known {
		if d := typo.Distance(given, name); d < least || d == least && name < best {
			best, least = name, d
		}
	}
	if best == "" { // a word may be missing, as in --mutations, or too many
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
