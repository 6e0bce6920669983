package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// Settings that ForServer computes, because their values can come from the environment.
const (
	ProxySetting   = "--proxy"
	NoProxySetting = "no_proxy"
)

// ForServer returns the settings that a client sends to open a session: the flags and variables
// that its user set. Paths are absolute, because the server has another working directory.
func (s *Settings) ForServer(flags *pflag.FlagSet) (server.Settings, error) {
	values := server.Settings{}
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(unsentFlags, f.Name) {
			return
		}
		set := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			set = list.GetSlice()
		}
		if path := f.Name == "policy" || f.Name == "audit-log"; path && err == nil {
			set[0], err = filepath.Abs(set[0])
		}
		values["--"+f.Name] = set
	})
	if s.Proxy != "" {
		values[ProxySetting] = []string{s.Proxy}
	}
	if s.NoProxy != "" {
		values[NoProxySetting] = []string{s.NoProxy}
	}
	s.addBrowsers(values)
	return values, err
}

// maxSettingName bounds the name of an unknown setting in an error, in characters.
const maxSettingName = 60

// ParseSettings sets the flags that the settings of a session name.
func ParseSettings(values server.Settings) (*Settings, *pflag.FlagSet, error) {
	s, groups := define()
	flags := pflag.NewFlagSet("session", pflag.ContinueOnError)
	for _, g := range groups {
		flags.AddFlagSet(g.flags)
	}
	known := map[string]*pflag.Flag{}
	for _, name := range SessionFlags() {
		known["--"+name] = flags.Lookup(name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == NoProxySetting {
			s.NoProxy = strings.Join(values[name], ",")
			continue
		}
		if name == namedbrowser.Setting {
			if err := s.setBrowsers(values[name]); err != nil {
				return nil, nil, err
			}
			continue
		}
		flag := known[name]
		if flag == nil {
			return nil, nil, Usagef("Settings are the flags of a session, with dashes; see `chrome-mcp help flags`.",
				"unknown setting %q", pagetext.Truncate(name, maxSettingName)).suggest(name, known)
		}
		if _, list := flag.Value.(pflag.SliceValue); !list && len(values[name]) > 1 {
			return nil, nil, Usagef("Send one.", "%s has %d values", name, len(values[name]))
		}
		for _, value := range values[name] {
			if err := flags.Set(flag.Name, value); err != nil {
				return nil, nil, Usagef("", "%s: %s", name, reason(err))
			}
		}
	}
	return s, flags, nil
}

// SessionSettings returns the settings of a session that a client opens with values. Only the
// default session uses the default profile; others have temporary profiles unless they name one.
func SessionSettings(name, data string, values server.Settings) (*Settings, error) {
	s, flags, err := ParseSettings(values)
	if err != nil {
		return nil, err
	}
	s.Given = flags.Changed
	s.Data = data
	if err := s.complete(); err != nil {
		return nil, err
	}
	if name != server.DefaultSession && !s.Given("profile") && !s.Given("cdp-endpoint") {
		s.Isolated = true
	}
	if err := s.CheckDefaultProfile(); err != nil {
		return nil, err
	}
	if !s.Given("tools") {
		s.Tools = mcp.Toolsets()
	}
	if !s.Given("structured") {
		s.Structured = true
	}
	return s, nil
}

// SessionFlags returns the flags that are settings of a session.
func SessionFlags() (names []string) {
	_, groups := define()
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(nonSessionFlags, f.Name) {
				names = append(names, f.Name)
			}
		})
	}
	return names
}

// ChatSettings returns the settings of the sessions of chats: the allowed sites, permissions and
// limits of the user, in their own Chrome.
func ChatSettings(data string, environ []string) (server.Settings, error) {
	s, groups := define()
	flags := pflag.NewFlagSet("chats", pflag.ContinueOnError)
	for _, g := range groups {
		flags.AddFlagSet(g.flags)
	}
	if err := flags.Set("data", data); err != nil {
		return nil, err
	}
	if err := s.load(flags, groups, environ); err != nil {
		return nil, err
	}
	values, err := s.ForServer(flags)
	if err != nil {
		return nil, err
	}
	kept := []string{"after-action", "audit-log", "proxy"}
	for _, g := range groups {
		if g.ofChats {
			g.flags.VisitAll(func(f *pflag.Flag) { kept = append(kept, f.Name) })
		}
	}
	for name := range values {
		if flag, ok := strings.CutPrefix(name, "--"); ok &&
			(!slices.Contains(kept, flag) || flag == "state" || flag == "serve-directory") {
			delete(values, name)
		}
	}
	delete(values, namedbrowser.Setting)
	values["--prefer"], values["--no-cdp-fallback"], values["--isolated"] = []string{"extension"}, []string{"true"}, []string{"true"}
	return values, nil
}
