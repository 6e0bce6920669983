package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// EnvPrefix is the prefix of the environment variables of flags.
const EnvPrefix = "CHROME_MCP_"

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// envOther maps additional variables to the flags that they set. The flag's own variable overrides
// them.
var envOther = map[string]string{"CHROME_MCP_USERDATA": "data", "CHROME_MCP_WS_PORT": "port"}

// fromEnvironment sets the flags that are not on the command line from their variables.
//
// An unknown variable is an error: it may be a misspelled policy rule.
func (s *Settings) fromEnvironment(flags *pflag.FlagSet, groups []flagGroup, environ []string) error {
	flagOf := map[string]*pflag.Flag{}
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) { flagOf[envName(f.Name)] = f })
	}
	for name, flag := range envOther {
		flagOf[name] = flags.Lookup(flag)
	}

	variables := variablesIn(environ)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !strings.HasPrefix(name, EnvPrefix) {
			continue
		}
		flag, value := flagOf[name], variables[name]
		switch {
		case flag == nil:
			return Usagef("Unset it. `chrome-mcp help flags` lists the flags; each is also a variable.",
				"unknown environment variable %s", name).suggest(name, flagOf)
		case flag.Changed: // on the command line, or by its own variable, whose name sorts first
			continue
		case value == "":
			return Usagef("Set a value, or unset it.", "environment variable %s is empty", name)
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
			return Usagef("Set a list, or unset it.", "environment variable %s is an empty list", name)
		}
		for _, v := range values {
			if err := flags.Set(flag.Name, v); err != nil {
				return Usagef("It sets --"+flag.Name+"; see `chrome-mcp help flags`.",
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
func (s *Settings) proxyFromEnvironment(environ []string) {
	switch s.Proxy {
	case "none":
		s.Proxy = ""
	case "":
		values := variablesIn(environ)
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			if values[name] != "" {
				s.Proxy, s.sources["proxy"] = values[name], variablePrefix+name
				s.NoProxy = cmp.Or(values["NO_PROXY"], values["no_proxy"])
				return
			}
		}
	}
}
