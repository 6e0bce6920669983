package serve

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// The default browsers that a token can give access to. Without any, it gives access to a managed browser
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

// principalSettings returns the settings for the sessions of a token, by flag with dashes. given
// are those in the token file, by flag without dashes. It returns an error if they select a browser
// that is not in browsers, which may include named browsers.
func principalSettings(s *cli.Settings, given server.Settings, browsers []string) (server.Settings, error) {
	if browsers == nil {
		browsers = []string{browserManaged}
	}
	named, browsers := browsersOf(s, browsers)
	known := []string{browserManaged, browserProfile, browserExtension, browserEndpoint}
	for _, b := range browsers {
		if !slices.Contains(known, b) {
			for _, b := range s.Browsers {
				known = append(known, b.Name)
			}
			return nil, cli.Usagef("The browsers are "+phrase.List(known, "and")+".", "unknown browser %q", b)
		}
	}
	if len(browsers) == 0 {
		return nil, cli.Usagef("Add "+phrase.List(known, "or")+" to the browsers of the token.",
			"the browsers of the token do not include a default browser")
	}
	values := server.Settings{}
	if named != nil {
		values[namedbrowser.Setting] = named
	}
	flags := cli.SessionFlags()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(flags, name) {
			return nil, cli.Usagef("Settings are the flags of a session, without dashes; see `chrome-mcp help flags`.",
				"%q is not a setting of a session", name)
		}
		needs := browserOfSetting[name]
		switch {
		case name == "prefer" && slices.Equal(given[name], []string{"extension"}):
			needs = browserExtension
		case name == "isolated" && !slices.Equal(given[name], []string{"true"}):
			needs = browserProfile
		}
		if needs != "" && !slices.Contains(browsers, needs) {
			return nil, cli.Usagef("Add it to the browsers of the token.",
				"setting %q needs the browser %q, which the token does not have", name, needs)
		}
		values["--"+name] = given[name]
	}
	selectBrowsers(s, values, browsers)
	if values["--secrets"] == nil {
		values["--secrets"] = []string{"none"}
	}
	if values["--ask"] == nil { // the client that would answer is the one that the settings restrict
		values["--ask"] = []string{"never"}
	}
	if _, err := checkSession(s, values, nil); err != nil {
		return nil, err
	}
	if values["--cdp-endpoint"] == nil && !slices.Contains(browsers, browserManaged) &&
		!slices.Contains(browsers, browserProfile) && !slices.Contains(browsers, browserExtension) {
		return nil, cli.Usagef("Add it.", `browser "endpoint" needs the setting cdp-endpoint`)
	}
	return values, nil
}

// selectBrowsers restricts settings to the given browsers.
func selectBrowsers(s *cli.Settings, values server.Settings, browsers []string) {
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
	switch proxy := values[cli.ProxySetting]; {
	case slices.Equal(proxy, []string{"none"}):
		delete(values, cli.ProxySetting)
	case proxy == nil && s.Proxy != "":
		values[cli.ProxySetting] = []string{s.Proxy}
		if s.NoProxy != "" {
			values[cli.NoProxySetting] = []string{s.NoProxy}
		}
	}
}

// checkSession checks the settings of a session, with the code that opens one. private are the files and
// directories with secrets that the session must not serve or upload. It returns these and those of the
// settings.
func checkSession(s *cli.Settings, values server.Settings, private []string) ([]string, error) {
	session, err := cli.SessionSettings(server.DefaultSession, s.Data, values)
	if err != nil {
		return nil, err
	}
	session.Private = private
	rules, err := compose.ValidPolicy(session)
	if err != nil {
		return nil, err
	}
	return compose.PrivatePaths(session, rules), nil
}

// principalFlags returns the settings of the sessions of the only token of serve: its flags and
// variables. They select the browsers that the token gives access to.
func principalFlags(s *cli.Settings, flags *pflag.FlagSet) (server.Settings, error) {
	values, err := s.ForServer(flags)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"tools", "structured"} {
		if f := flags.Lookup(name); flags.Changed(name) {
			values["--"+name] = []string{f.Value.String()}
		}
	}
	given, ours := server.Settings{}, cli.SessionFlags()
	browsers := []string{browserManaged}
	for flag, set := range values {
		name := strings.TrimPrefix(flag, "--")
		if flag == cli.ProxySetting || !slices.Contains(ours, name) {
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
	for _, b := range s.Browsers {
		browsers = append(browsers, b.Name)
	}
	return principalSettings(s, given, browsers)
}

// browsersOf returns the settings of the named browsers that a token gives access to, and the names
// that are not theirs. It returns nil without named browsers.
func browsersOf(s *cli.Settings, names []string) (setting []string, others []string) {
	var chosen []namedbrowser.Browser
	for _, name := range names {
		if i := slices.IndexFunc(s.Browsers, func(b namedbrowser.Browser) bool { return b.Name == name }); i >= 0 {
			chosen = append(chosen, s.Browsers[i])
		} else {
			others = append(others, name)
		}
	}
	if chosen != nil {
		setting = namedbrowser.Encode(chosen)
	}
	return setting, others
}
