package server

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// maxSettings bounds the body of a request that opens a session, in bytes.
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
			return nil, errs.Errorf(errs.ErrBadArgs, `Write it as ["VALUE"], such as ["true"].`, "setting %s: is not a list of strings", short(m.key))
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
			return nil, errs.Errorf(errs.ErrBadArgs, "Write "+name+"=true or "+name+"=false.", "query parameter %s: %s is not true or false", name, strconv.Quote(values[0]))
		}
		result[name] = given[name][0] == "true"
	}
	return result, nil
}
