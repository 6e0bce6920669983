package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxTokenFile is the maximum size of a token file, in bytes.
const maxTokenFile = 1 << 20

// A TokenEntry is an entry of a token file.
type TokenEntry struct {
	// Name is unique in the file.
	Name string
	// Digest is the SHA-256 of the token.
	Digest [sha256.Size]byte
	// Settings are the settings of the sessions, by flag without dashes.
	Settings Settings
	// MaxSessions is 0 if the file does not set it.
	MaxSessions int
	// Browsers is nil if the file does not set it.
	Browsers []string
}

// ReadTokenFile reads a token file. It returns an error if others can read the file, and for
// unknown and duplicate keys, names and tokens. Errors contain no token.
func ReadTokenFile(path string) ([]TokenEntry, error) {
	data, err := owneronly.ReadFile(path, maxTokenFile)
	if err != nil {
		return nil, readError(path, err)
	}
	entries, err := parseTokens(data)
	if err != nil {
		return nil, errs.Errorf(errs.ErrBadArgs, `Correct the file. It looks like {"tokens": [{"name": "ci", "token": "…"}]}.`, "%s: %w", path, err)
	}
	return entries, nil
}

func parseTokens(data []byte) ([]TokenEntry, error) {
	var list []json.RawMessage
	err := decodeObject(data, map[string]any{"tokens": &list})
	if err == nil && len(list) == 0 {
		err = errors.New("has no tokens")
	}
	if err != nil {
		return nil, err
	}
	var entries []TokenEntry
	for i, raw := range list {
		entry, err := parseToken(raw)
		switch {
		case err != nil:
		case slices.ContainsFunc(entries, func(e TokenEntry) bool { return e.Name == entry.Name }):
			err = fmt.Errorf("duplicate name %q", entry.Name)
		case slices.ContainsFunc(entries, func(e TokenEntry) bool { return e.Digest == entry.Digest }):
			err = errors.New("duplicate token")
		}
		if err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func parseToken(raw json.RawMessage) (e TokenEntry, err error) {
	var token, sum string
	var settings json.RawMessage
	err = decodeObject(raw, map[string]any{
		"name": &e.Name, "token": &token, "sha256": &sum, "settings": &settings, "maxSessions": &e.MaxSessions, "browsers": &e.Browsers,
	})
	switch {
	case err != nil:
		return e, err
	case CheckName(e.Name) != nil || len(e.Name) >= minToken: // a token in the place of a name must not be in errors and logs
		return e, fmt.Errorf("name: must be 1 to %d letters, digits, dots, dashes and underscores, and not begin with a dot or a dash", minToken-1)
	case e.MaxSessions < 0:
		return e, errors.New("maxSessions: is negative")
	}
	if e.Digest, err = digestOf(token, sum); err != nil || settings == nil {
		return e, err
	}
	e.Settings = Settings{}
	flags, err := members(settings)
	for _, flag := range flags {
		var values []string
		if json.Unmarshal(flag.value, &values) != nil || len(values) == 0 {
			return e, fmt.Errorf("settings: %s: is not a list of strings", short(flag.key))
		}
		e.Settings[flag.key] = values
	}
	if err != nil {
		return e, fmt.Errorf("settings: %w", err)
	}
	return e, nil
}

// decodeObject decodes a JSON object. It returns an error for a key that is not in fields, for a
// duplicate key, and for a value of the wrong type.
func decodeObject(raw []byte, fields map[string]any) error {
	all, err := members(raw)
	if err != nil {
		return err
	}
	for _, m := range all {
		field, ok := fields[m.key]
		if !ok {
			return fmt.Errorf("unknown key %s; the keys are %s", short(m.key), strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		if json.Unmarshal(m.value, field) != nil || string(m.value) == "null" {
			return fmt.Errorf("%s: has the wrong type", m.key)
		}
	}
	return nil
}

// A member is a key and a value of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// members returns the members of a JSON object. encoding/json would accept duplicate keys and keys
// in another case.
func members(raw []byte) (all []member, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	for dec.More() {
		var m member
		t, err := dec.Token()
		if err == nil {
			m.key = t.(string) // a token at this position is always a key
			err = dec.Decode(&m.value)
		}
		if err != nil {
			return nil, errors.New("is not JSON")
		}
		if slices.ContainsFunc(all, func(other member) bool { return other.key == m.key }) {
			return nil, fmt.Errorf("duplicate key %s", short(m.key))
		}
		all = append(all, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("is not JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the object")
	}
	return all, nil
}

// short quotes a key for an error, unless it is as long as a token.
func short(key string) string {
	if len(key) >= minToken {
		return fmt.Sprintf("of %d bytes", len(key))
	}
	return strconv.Quote(key)
}
