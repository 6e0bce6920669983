package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// Settings are the settings of a workspace: the values of each flag by which a client opened it.
type Settings map[string][]string

// maxSettings bounds the body of a request that opens a workspace, in bytes.
const maxSettings = 1 << 20

// readSettings reads the settings in the body of a request, a JSON object that maps each setting to
// a list of strings. No body means no settings. It returns ErrBadArgs for anything else.
func readSettings(w http.ResponseWriter, r *http.Request) (Settings, error) {
	const hint = `Send a JSON object that maps each setting to a list of strings.`
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSettings))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errs.Errorf(errs.ErrBadArgs, "Send less.", "the settings are larger than %d MiB", maxSettings>>20)
	}
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "", "the body was not received: %w", reasonOf(err))
	}
	settings := Settings{}
	if len(body) == 0 {
		return settings, nil
	}
	all, err := members(body)
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, hint, "settings of the session: %w", err)
	}
	for _, m := range all {
		var values []string
		if json.Unmarshal(m.value, &values) != nil || len(values) == 0 {
			return nil, errs.Errorf(errs.ErrBadArgs, `Write it as ["VALUE"], such as ["true"].`,
				"setting %s: is not a list of strings", short(m.key))
		}
		settings[m.key] = values
	}
	return settings, nil
}

// boolParameters returns the values of query parameters, by name, that are all true or false. It
// returns ErrBadArgs for parameters that are not in names.
func boolParameters(query string, names ...string) (map[string]bool, error) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, "Percent-encode it.", "the query of the URL is invalid")
	}
	result := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			hint := "Omit it."
			if known := typo.Nearest(name, slices.Values(names)); known != "" {
				hint = "Did you mean " + known + "?"
			}
			return nil, errs.Errorf(errs.ErrBadArgs, hint, "unknown query parameter %s", short(name))
		}
		if values := given[name]; len(values) != 1 || values[0] != "true" && values[0] != "false" {
			return nil, errs.Errorf(errs.ErrBadArgs, "Write "+name+"=true or "+name+"=false.",
				"query parameter %s: %s is not true or false", name, strconv.Quote(values[0]))
		}
		result[name] = given[name][0] == "true"
	}
	return result, nil
}

// privateSettings are the settings whose values can contain tokens and passwords.
var privateSettings = []string{"--cdp-endpoint", "--proxy", "browsers"}

// check returns an error that names the differences between the settings s of the open workspace
// and those of a later client.
func (s Settings) check(name string, later Settings) error {
	var all []string
	for _, flag := range s.differences(later) {
		if slices.Contains(privateSettings, flag) {
			all = append(all, flag+" differs")
			continue
		}
		has := "unset"
		if values, ok := s[flag]; ok {
			has = fmt.Sprintf("%q", values)
		}
		all = append(all, fmt.Sprintf("%s is %s there, not %q", quoteSetting(flag), has, later[flag]))
	}
	if len(all) == 0 {
		return nil
	}
	return errs.Errorf(errs.ErrBadArgs,
		fmt.Sprintf("Omit them, or restore those of a configuration file. Otherwise close the session with `Client.CloseSession %s` or DELETE /v1/sessions/%[1]s, or use another session.", name),
		"session %q was opened with other settings: %s", name, strings.Join(all, "; "))
}

// settingName matches the names that settings have.
var settingName = lazyregexp.New(`^[a-z_-]{1,40}$`)

// quoteSetting returns the name of a setting for an error. It quotes what is not the name of one,
// because a client can send anything, and the error may be printed on a terminal.
func quoteSetting(name string) string {
	if settingName().MatchString(name) {
		return name
	}
	return short(name)
}

func quoteSettings(names []string) []string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quoteSetting(name)
	}
	return quoted
}

// differences returns the flags that later sets to other values than s, sorted.
func (s Settings) differences(later Settings) (flags []string) {
	for _, flag := range slices.Sorted(maps.Keys(later)) {
		if !slices.Equal(s[flag], later[flag]) {
			flags = append(flags, flag)
		}
	}
	return flags
}
