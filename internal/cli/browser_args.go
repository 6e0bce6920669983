package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// browserArgValues maps each argument that --browser-arg accepts to a function that reports whether a
// value is valid. Nil means that the argument has no value. None of them affects the network, the
// sandbox, the isolation of sites, certificates, extensions, permissions, files or the debugging
// connection.
var browserArgValues = map[string]func(value string) bool{
	"--accept-lang":                       matches(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*(,[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*)*$`),
	"--autoplay-policy":                   oneOf("no-user-gesture-required", "user-gesture-required", "document-user-activation-required"),
	"--disable-dev-shm-usage":             nil,
	"--disable-font-subpixel-positioning": nil,
	"--disable-gpu":                       nil,
	"--disable-lcd-text":                  nil,
	"--disable-smooth-scrolling":          nil,
	"--font-render-hinting":               oneOf("none", "slight", "medium", "full", "max"),
	"--force-color-profile":               matches(`^[a-z0-9-]{1,40}$`),
	"--force-dark-mode":                   nil,
	"--force-device-scale-factor":         matches(`^(0\.[5-9][0-9]{0,2}|[1-4](\.[0-9]{1,3})?)$`),
	"--force-prefers-reduced-motion":      nil,
	"--hide-scrollbars":                   nil,
	"--mute-audio":                        nil,
	"--touch-events":                      oneOf("auto", "disabled", "enabled"),
	"--use-fake-device-for-media-stream":  nil,
	"--window-position":                   matches(`^-?[0-9]{1,5},-?[0-9]{1,5}$`),
}

// browserArgInstead maps arguments of Chromium to what has their effect here.
var browserArgInstead = map[string]string{
	"--lang":          "--browser-arg --accept-lang=LANGUAGES",
	"--proxy-server":  "--proxy URL",
	"--user-data-dir": "--profile NAME",
	"--window-size":   "--viewport WxH",
}

func matches(expr string) func(string) bool {
	re := lazyregexp.New(expr)
	return func(value string) bool { return re().MatchString(value) }
}

func oneOf(words ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(words, value) }
}

// addBrowserArg adds an argument of browserArgValues. Chromium accepts other spellings, such as
// -lang=de, which would hide an argument from a reader, so they are errors.
func addBrowserArg(args []string, arg string) ([]string, error) {
	name, value, hasValue := strings.Cut(arg, "=")
	valid, known := browserArgValues[name]
	switch {
	case browserArgInstead[name] != "":
		return nil, fmt.Errorf("%q is not accepted; use %s", arg, browserArgInstead[name])
	case !known:
		return nil, fmt.Errorf("%q is not one of %s", arg, phrase.List(slices.Sorted(maps.Keys(browserArgValues)), "and"))
	case valid == nil && hasValue:
		return nil, fmt.Errorf("%s takes no value: %q", name, arg)
	case valid != nil && !hasValue:
		return nil, fmt.Errorf("%s needs a value", name)
	case valid != nil && !valid(value):
		return nil, fmt.Errorf("invalid value in %q", arg)
	case slices.ContainsFunc(args, func(other string) bool { return other == name || strings.HasPrefix(other, name+"=") }):
		return nil, fmt.Errorf("%s is set twice", name)
	}
	return append(args, arg), nil
}
