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
	// Settings are the settings of the workspaces, by flag without dashes.
	Settings Settings
	// MaxSessions is 0 if the file does not set it.
	MaxSessions int
	// Metrics is Principal.Metrics.
	Metrics bool
	// Browsers is nil if the file does not set it.
	Browsers []string
	// Line is the line of the file at which the entry begins.
	Line int
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
		return nil, errs.Errorf(errs.ErrBadArgs,
			`Correct the file. It looks like {"tokens": [{"name": "ci", "token": "…"}]}.`,
			"%s: %w", path, err)
	}
	return entries, nil
}

func parseTokens(data []byte) ([]TokenEntry, error) {
	var list []json.RawMessage
	_, err := decodeObject(data, map[string]any{"tokens": &list})
	if err == nil && len(list) == 0 {
		err = errors.New("has no tokens")
	}
	if err != nil {
		at := positionOf(err)
		if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, new(json.RawMessage))); ok {
			at = int(syntax.Offset)
		}
		return nil, fmt.Errorf("line %d: %w", lineOf(data, at), err)
	}
	var entries []TokenEntry
	for i, raw := range list {
		start := elementStart(data, i)
		entry, err := parseToken(raw)
		entry.Line = lineOf(data, start)
		switch {
		case err != nil:
		case slices.ContainsFunc(entries, func(e TokenEntry) bool { return e.Name == entry.Name }):
			err = fmt.Errorf("duplicate name %q", entry.Name)
		case slices.ContainsFunc(entries, func(e TokenEntry) bool { return e.Digest == entry.Digest }):
			err = errors.New("duplicate token")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: tokens[%d]: %w", lineOf(data, start+positionOf(err)), i, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func parseToken(raw json.RawMessage) (e TokenEntry, err error) {
	var token, sum string
	var settings json.RawMessage
	at, err := decodeObject(raw, map[string]any{
		"name": &e.Name, "token": &token, "sha256": &sum, "settings": &settings, "maxSessions": &e.MaxSessions, "metrics": &e.Metrics, "browsers": &e.Browsers,
	})
	switch {
	case err != nil:
		return e, err
	case CheckName(e.Name) != nil || len(e.Name) >= minToken: // a token in the place of a name must not be in errors and logs
		return e, &positionError{
			at["name"],
			fmt.Errorf("name: must be 1 to %d letters, digits, dots, dashes and underscores, and not begin with a dot or a dash",
				minToken-1),
		}
	case e.MaxSessions < 0:
		return e, &positionError{at["maxSessions"], errors.New("maxSessions: is negative")}
	}
	if e.Digest, err = digestOf(token, sum); err != nil {
		return e, &positionError{max(at["token"], at["sha256"]), err}
	}
	if settings == nil {
		return e, nil
	}
	e.Settings = Settings{}
	flags, err := members(settings)
	for _, flag := range flags {
		var values []string
		if json.Unmarshal(flag.value, &values) != nil || len(values) == 0 {
			return e, &positionError{
				at["settings"] + flag.at, fmt.Errorf("settings: %s: is not a list of strings", short(flag.key)),
			}
		}
		e.Settings[flag.key] = values
	}
	if err != nil {
		return e, &positionError{at["settings"] + positionOf(err), fmt.Errorf("settings: %w", err)}
	}
	return e, nil
}

// A positionError is an error at an offset of a JSON text, in bytes.
type positionError struct {
	at int
	error
}

func (e *positionError) Unwrap() error { return e.error }

// positionOf returns the offset of an error, or 0 if it has none.
func positionOf(err error) int {
	if e, ok := errors.AsType[*positionError](err); ok {
		return e.at
	}
	return 0
}

// lineOf returns the line of an offset of a text, from 1.
func lineOf(data []byte, at int) int {
	return 1 + bytes.Count(data[:min(at, len(data))], []byte("\n"))
}

// elementStart returns the offset of element i of the only member of a valid JSON object, which is
// an array.
func elementStart(data []byte, i int) int {
	dec := json.NewDecoder(bytes.NewReader(data))
	for range 3 { // the brace, the key and the bracket
		_, _ = dec.Token()
	}
	var raw json.RawMessage
	for range i + 1 {
		_ = dec.Decode(&raw)
	}
	return int(dec.InputOffset()) - len(raw)
}

// decodeObject decodes a JSON object, and returns the offsets of the values, by key. It returns an
// error for a key that is not in fields, for a duplicate key, and for a value of the wrong type.
func decodeObject(raw []byte, fields map[string]any) (at map[string]int, err error) {
	all, err := members(raw)
	if err != nil {
		return nil, err
	}
	at = map[string]int{}
	for _, m := range all {
		field, ok := fields[m.key]
		if !ok {
			return nil, &positionError{
				m.at,
				fmt.Errorf("unknown key %s; the keys are %s", short(m.key), strings.Join(slices.Sorted(maps.Keys(fields)), ", ")),
			}
		}
		if json.Unmarshal(m.value, field) != nil || string(m.value) == "null" {
			return nil, &positionError{m.at, fmt.Errorf("%s: has the wrong type", m.key)}
		}
		at[m.key] = m.at
	}
	return at, nil
}

// A member is a key and a value of a JSON object.
type member struct {
	key   string
	value json.RawMessage
	at    int // offset of the value, in bytes
}

// maxMembers bounds the keys of an object. Each is compared with all before it.
const maxMembers = 1000

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
			return nil, &positionError{int(dec.InputOffset()), errors.New("is not JSON")}
		}
		m.at = int(dec.InputOffset()) - len(m.value)
		if len(all) == maxMembers {
			return nil, &positionError{m.at, fmt.Errorf("has more than %d keys", maxMembers)}
		}
		if slices.ContainsFunc(all, func(other member) bool { return other.key == m.key }) {
			return nil, &positionError{m.at, fmt.Errorf("duplicate key %s", short(m.key))}
		}
		all = append(all, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, &positionError{int(dec.InputOffset()), errors.New("is not JSON")}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &positionError{int(dec.InputOffset()), errors.New("unexpected data after the object")}
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
