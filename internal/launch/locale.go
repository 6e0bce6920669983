package launch

import (
	"slices"
	"strings"
)

// withUTF8 returns env with a UTF-8 character encoding, unless env already sets
// one. Chromium on Linux encodes file names with it and loses characters that it
// cannot encode, and MCP hosts start servers without a locale. The language does
// not change.
func withUTF8(env []string) []string {
	const locale = "C.UTF-8"
	values := make(map[string]string)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // by precedence
		value := values[name]
		if value == "" {
			continue
		}
		if strings.Contains(strings.ReplaceAll(strings.ToUpper(value), "-", ""), "UTF8") {
			return env
		}
		break
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, "LC_ALL=") || strings.HasPrefix(v, "LC_CTYPE=")
	})
	if all := values["LC_ALL"]; all != "" {
		env = append(env, "LANG="+all) // LC_ALL was the locale of all other categories
	}
	return append(env, "LC_CTYPE="+locale)
}
