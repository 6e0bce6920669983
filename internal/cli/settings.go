// Package cli has the command line of the program: flags, environment variables and configuration file,
// which become Settings; help, completion and errors with exit codes. It knows no command except for
// completion, config, help and version.
package cli

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// Settings are the values of the flags, the environment variables and the configuration file.
type Settings struct {
	args    []string               // command line
	Given   func(flag string) bool // reports whether the flag or its variable was set
	sources map[string]string      // maps each flag that is not on the command line to what set it
	config  string                 // configuration file; NoConfig for none, empty for the default

	// Allowed sites, permissions and limits.
	AllowDomain, BlockDomain, AllowPrivate []string
	PolicyFile, UploadsDir, ServeDirectory string
	StateDir, State                        string
	Private                                []string // files and directories of the server that ServeDirectory must not show and UploadsDir must not contain
	AllDomains, Mutations, Downloads, Eval bool
	Storage, Clipboard                     bool
	Subresources, Ask                      string
	Secrets                                secretNames
	MaxDownload, MaxDownloadTotal          byteSize
	MaxResult, MaxOutputTotal              byteSize
	MaxDownloads, MaxTabs                  int
	MaxCalls, MaxImage                     int
	MaxBrowsers                            int // of the server

	// Browser.
	Browser, Profile, CDPEndpoint, Prefer, Proxy, NoProxy, Data string
	Headless, Isolated, NoSandbox                               bool
	HTTPCredentials                                             string // file
	AttachDefaultContext, NoCDPFallback                         bool
	CDPListen, CDPClients, egressAddress                        string
	IdleBrowser                                                 time.Duration // 0 means never
	Viewport                                                    viewport
	BrowserArgs, AcceptCertificates                             []string
	Port                                                        portFlag
	Browsers                                                    []namedbrowser.Browser // of the configuration file

	// Server of call and shell.
	Session, Connect string
	ConnectToken     string // file
	PrincipalFile    string
	ConnectHTTP      bool
	NoServer         bool
	RemoteEgress     *chromium.RemoteEgress // at egressAddress; of all sessions of the process; may be nil

	// Tools, output and logging.
	Tools       toolsets
	Structured  bool
	AfterAction string
	LogLevel    logLevel
	LogFile     string
	AuditLog    string

	JSON    bool   // of the commands with AddJSONFlag
	Version string // of this program
}

// load completes the settings from the flags of the command line, the environment and the
// configuration file. Flags override variables, which override the file. All errors are of type
// *UsageError.
func (s *Settings) load(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	s.Given = flags.Changed
	if err := s.fromEnvironment(flags, groups, environ); err != nil {
		return err
	}
	if err := s.fromConfig(flags, groups); err != nil {
		return err
	}
	var empty error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			empty = Usagef("Set a value or omit the flag.", "%s is empty", s.NameOf(f.Name))
		}
	})
	s.proxyFromEnvironment(environ)
	return cmp.Or(empty, s.complete())
}

// loadData completes the settings from the flags of the command line and the variables of the data
// directory only. What stops the agent must work while other settings are wrong.
func (s *Settings) loadData(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	s.config = NoConfig
	return s.load(flags, groups, slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, EnvPrefix) && name != envName("data") && envOther[name] != "data"
	}))
}

// variablePrefix precedes the name of an environment variable in Settings.sources.
const variablePrefix = "environment variable "

// NameOf returns the name by which the user set a flag: the flag, its variable, or the name and
// position of a setting in the configuration file.
func (s *Settings) NameOf(flag string) string {
	source := s.sources[flag]
	switch {
	case source == "":
		return "--" + flag
	case strings.HasPrefix(source, variablePrefix):
		return source
	}
	return flag + " at " + source
}

// OnCommandLine reports whether a flag is on the command line.
func (s *Settings) OnCommandLine(flag string) bool { return s.sources[flag] == "" && s.Given(flag) }

// AddJSONFlag adds --json to a command.
func (s *Settings) AddJSONFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.JSON, "json", false, "with audit, call, doctor, read and shell: print JSON lines")
}

// addBrowsers adds the named browsers to the settings that a client sends to the server.
func (s *Settings) addBrowsers(values server.Settings) {
	if s.Browsers != nil {
		values[namedbrowser.Setting] = namedbrowser.Encode(s.Browsers)
	}
}
