package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// The browsers that a token can give access to. Without any, it gives access to a managed browser
// with a temporary profile.
const (
	browserManaged   = "managed"   // with a temporary profile
	browserProfile   = "profile"   // managed, with a persistent profile
	browserExtension = "extension" // the user's Chrome
	browserEndpoint  = "endpoint"  // an attached browser
)

// browserOfSetting maps a setting to the browser that it selects.
var browserOfSetting = map[string]string{
	"cdp-endpoint": browserEndpoint, "attach-default-context": browserEndpoint,
	"profile": browserProfile, "port": browserExtension, "no-cdp-fallback": browserExtension,
}

// notOfSession are the flags that are not settings of a session.
var notOfSession = []string{"data", "session", "connect", "connect-token-file", "unsafe-connect-http", "principal-file", "no-server", "cdp-listen", "egress-address", "idle-browser", "log-level", "log-file", "config"}

// principalSettings returns the settings for the sessions of a token, by flag with dashes. given
// are those in the token file, by flag without dashes. It returns an error if they select a browser
// that is not in browsers, which may include named browsers.
func (s *settings) principalSettings(given server.Settings, browsers []string) (server.Settings, error) {
	if browsers == nil {
		browsers = []string{browserManaged}
	}
	named, browsers := s.browsersOf(browsers)
	known := []string{browserManaged, browserProfile, browserExtension, browserEndpoint}
	for _, b := range browsers {
		if !slices.Contains(known, b) {
			for _, b := range s.browsers {
				known = append(known, b.Name)
			}
			return nil, usagef("The browsers are "+list(known, "and")+".", "unknown browser %q", b)
		}
	}
	if len(browsers) == 0 {
		return nil, usagef("Add "+list(known, "or")+" to the browsers of the token.", "the browsers of the token do not include a default browser")
	}
	values := server.Settings{}
	if named != nil {
		values[browsersSetting] = named
	}
	flags := sessionFlags()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(flags, name) {
			return nil, usagef("Settings are the flags of a session, without dashes; see `chrome-mcp help flags`.", "%q is not a setting of a session", name)
		}
		needs := browserOfSetting[name]
		switch {
		case name == "prefer" && slices.Equal(given[name], []string{"extension"}):
			needs = browserExtension
		case name == "isolated" && !slices.Equal(given[name], []string{"true"}):
			needs = browserProfile
		}
		if needs != "" && !slices.Contains(browsers, needs) {
			return nil, usagef("Add it to the browsers of the token.", "setting %q needs the browser %q, which the token does not have", name, needs)
		}
		values["--"+name] = given[name]
	}
	s.selectBrowsers(values, browsers)
	if values["--secrets"] == nil {
		values["--secrets"] = []string{"none"}
	}
	if values["--ask"] == nil { // the client that would answer is the one that the settings restrict
		values["--ask"] = []string{"never"}
	}
	if err := s.checkSession(values); err != nil {
		return nil, err
	}
	if values["--cdp-endpoint"] == nil && !slices.Contains(browsers, browserManaged) && !slices.Contains(browsers, browserProfile) && !slices.Contains(browsers, browserExtension) {
		return nil, usagef("Add it.", `browser "endpoint" needs the setting cdp-endpoint`)
	}
	return values, nil
}

// selectBrowsers restricts settings to the given browsers.
func (s *settings) selectBrowsers(values server.Settings, browsers []string) {
	has := func(b string) bool { return slices.Contains(browsers, b) }
	endpoint := values["--cdp-endpoint"] != nil
	if !has(browserExtension) {
		values["--prefer"] = []string{"cdp"}
	} else if !endpoint && !has(browserManaged) && !has(browserProfile) {
		values["--no-cdp-fallback"] = []string{"true"}
	}
	if !endpoint && values["--profile"] == nil && values["--isolated"] == nil {
		values["--isolated"] = []string{"true"}
	}
	switch proxy := values[proxySetting]; {
	case slices.Equal(proxy, []string{"none"}):
		delete(values, proxySetting)
	case proxy == nil && s.proxy != "":
		values[proxySetting] = []string{s.proxy}
		if s.noProxy != "" {
			values[noProxySetting] = []string{s.noProxy}
		}
	}
}

// checkSession checks the settings of a session, with the code that opens one.
func (s *settings) checkSession(values server.Settings) error {
	session, err := sessionSettings(server.DefaultSession, s.data, values)
	if err == nil {
		_, err = session.validPolicy()
	}
	return err
}

// principalFlags returns the settings of the sessions of the only token of serve: its flags and
// variables. They select the browsers that the token gives access to.
func (s *settings) principalFlags(flags *pflag.FlagSet) (server.Settings, error) {
	values, err := s.forServer(flags)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"tools", "structured"} {
		if f := flags.Lookup(name); flags.Changed(name) {
			values["--"+name] = []string{f.Value.String()}
		}
	}
	given, ours := server.Settings{}, sessionFlags()
	browsers := []string{browserManaged}
	for flag, set := range values {
		name := strings.TrimPrefix(flag, "--")
		if flag == proxySetting || !slices.Contains(ours, name) {
			continue // selectBrowsers adds the proxy
		}
		given[name] = set
		if b := browserOfSetting[name]; b != "" {
			browsers = append(browsers, b)
		}
	}
	if slices.Equal(given["prefer"], []string{"extension"}) {
		browsers = append(browsers, browserExtension)
	}
	for _, b := range s.browsers {
		browsers = append(browsers, b.Name)
	}
	return s.principalSettings(given, browsers)
}

// sessionFlags returns the flags that are settings of a session.
func sessionFlags() (names []string) {
	_, groups := define()
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(notOfSession, f.Name) {
				names = append(names, f.Name)
			}
		})
	}
	return names
}
