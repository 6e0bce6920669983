// Package hostconfig adds this program to the configurations of MCP hosts and removes it from them.
//
// A change is computed first, and then written if the file is still the same. It touches only the
// entry: the rest of the file keeps its bytes, with comments and white space.
package hostconfig

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// EntryName is the name of the entry in the configuration of a host.
const EntryName = "chrome"

// An Entry is how a host starts an MCP server on stdin and stdout.
type Entry struct {
	Command string
	Args    []string
}

var (
	// ErrChanged is in the chain of the error for a file that changed after it was read.
	ErrChanged = errors.New("changed after it was read")
	// ErrSymlink is in the chain of the error for a path with a symbolic link.
	ErrSymlink = errors.New("is a symbolic link")
	// ErrForm is in the chain of the error for a valid file that cannot be edited.
	ErrForm = errors.New("cannot be edited")
)

// A SyntaxError is a mistake in a configuration file.
type SyntaxError struct {
	Path         string
	Line, Column int // from 1; the column counts bytes
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Message)
}

// syntaxError returns the error for the byte at an offset of data.
func syntaxError(data []byte, offset int, format string, args ...any) *SyntaxError {
	e := &SyntaxError{Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}
	for _, c := range data[:min(max(offset, 0), len(data))] {
		e.Column++
		if c == '\n' {
			e.Line, e.Column = e.Line+1, 1
		}
	}
	return e
}

// Fragment returns a configuration that contains only an entry.
func (h *Host) Fragment(e Entry) ([]byte, error) {
	return h.edit(nil, &e)
}

// Change returns the change that adds an entry to the file at a location, or changes the command and
// the arguments of the existing one. The other settings of an existing entry remain. If e is nil, the
// change removes the entry.
func (h *Host) Change(at Location, e *Entry) (*Change, error) {
	c, err := read(at)
	if err != nil {
		return nil, err
	}
	before, err := h.parse(c.Before)
	if err == nil {
		c.Found, err = h.entry(before)
	}
	switch {
	case err != nil:
	case e == nil && c.Found == nil, e != nil && c.Found != nil && c.Found.plain && c.Found.equal(*e):
		c.After = c.Before
	default:
		c.After, err = h.edit(c.Before, e)
		if err == nil {
			err = h.check(before, c.After, e)
		}
	}
	if syntax, ok := errors.AsType[*SyntaxError](err); ok {
		syntax.Path = c.Path
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", c.Path, err)
	}
	return c, nil
}

func (h *Host) edit(data []byte, e *Entry) ([]byte, error) {
	if h.Format == TOML {
		return h.editTOML(data, e)
	}
	return h.editJSON(data, e)
}

// parse returns the content of a configuration file.
func (h *Host) parse(data []byte) (map[string]any, error) {
	if h.Format == TOML {
		return parseTOML(data)
	}
	return h.parseJSON(data)
}

// A FoundEntry is an entry in a file.
type FoundEntry struct {
	Entry
	plain bool // has nothing that contradicts command and arguments, such as a URL
}

func (e *FoundEntry) equal(other Entry) bool {
	return e.Command == other.Command && slices.Equal(e.Args, other.Args)
}

// stale are the settings of an entry for another transport, which contradict a command.
var stale = []string{"url", "serverUrl", "httpUrl", "headers", "bearer_token_env_var", "http_headers", "env_http_headers"}

// entry returns the entry in a configuration, or nil.
func (h *Host) entry(config map[string]any) (*FoundEntry, error) {
	switch servers := config[h.Key].(type) {
	case nil:
		if _, ok := config[h.Key]; ok {
			return nil, fmt.Errorf("%w: %s is null", ErrForm, h.Key)
		}
		return nil, nil
	case map[string]any:
		value, ok := servers[EntryName]
		if !ok {
			return nil, nil
		}
		settings, plain := value.(map[string]any)
		found := &FoundEntry{plain: plain}
		found.Command, ok = settings["command"].(string)
		found.plain = found.plain && ok
		args, ok := settings["args"].([]any)
		if _, has := settings["args"]; has && !ok {
			found.plain = false
		}
		for _, arg := range args {
			text, ok := arg.(string)
			found.plain = found.plain && ok
			found.Args = append(found.Args, text)
		}
		if kind, ok := settings["type"]; ok && kind != "stdio" {
			found.plain = false
		}
		for _, name := range stale {
			if _, ok := settings[name]; ok {
				found.plain = false
			}
		}
		return found, nil
	}
	return nil, fmt.Errorf("%w: %s does not contain names and settings", ErrForm, h.Key)
}

// check returns an error unless after is before with the entry e, or without the entry if e is nil.
func (h *Host) check(before map[string]any, after []byte, e *Entry) error {
	now, err := h.parse(after)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrForm, err)
	}
	found, err := h.entry(now)
	switch {
	case err != nil:
		return err
	case e == nil && found != nil, e != nil && (found == nil || !found.plain || !found.equal(*e)):
		return fmt.Errorf("%w: the entry %s is in an unexpected form", ErrForm, EntryName)
	}
	if !reflect.DeepEqual(h.others(before), h.others(now)) {
		return fmt.Errorf("%w: the change would affect other settings", ErrForm)
	}
	return nil
}

// others returns a configuration without the entry, and without an empty list of entries.
func (h *Host) others(config map[string]any) map[string]any {
	rest := maps.Clone(config)
	delete(rest, h.Key)
	all, _ := config[h.Key].(map[string]any)
	servers := maps.Clone(all)
	delete(servers, EntryName)
	if len(servers) > 0 {
		rest[h.Key] = servers
	}
	return rest
}
