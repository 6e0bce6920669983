package hostconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// parseTOML returns the content of a TOML file.
func parseTOML(data []byte) (map[string]any, error) {
	config := map[string]any{}
	err := toml.Unmarshal(data, &config)
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := decode.Position()
		return nil, &SyntaxError{Line: line, Column: column, Message: strings.TrimPrefix(decode.Error(), "toml: ")}
	}
	return config, err
}

// A table is a part of a TOML file: a header and the lines that follow it. start and end are the
// offsets of its first line and of the line after its last setting.
type table struct {
	path       []string
	start, end int
	settings   []setting
}

// A setting is the text of KEY = VALUE.
type setting struct {
	key        []string
	start, end int
}

// tables returns the tables of a valid TOML file.
func tables(data []byte) ([]table, error) {
	var all []table
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		x := p.Expression()
		var names []string
		first := -1
		for it := x.Key(); it.Next(); {
			if first < 0 {
				first = int(it.Node().Raw.Offset)
			}
			names = append(names, string(it.Node().Data))
		}
		switch {
		case x.Kind == unstable.Table || x.Kind == unstable.ArrayTable:
			start := bytes.LastIndexByte(data[:first], '\n') + 1
			all = append(all, table{path: names, start: start, end: lineEnd(data, first)})
		case x.Kind == unstable.KeyValue && len(all) > 0:
			end := int(x.Raw.Offset + x.Raw.Length)
			t := &all[len(all)-1]
			t.settings = append(t.settings, setting{names, int(x.Raw.Offset), end})
			t.end = lineEnd(data, end)
		}
	}
	return all, p.Error()
}

// lineEnd returns the offset of the line after the one with an offset.
func lineEnd(data []byte, offset int) int {
	if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(data)
}

// editTOML returns data with the entry e, or without the entry if e is nil. Data is valid.
func (h *Host) editTOML(data []byte, e *Entry) ([]byte, error) {
	config, err := parseTOML(data)
	if err != nil {
		return nil, err
	}
	found, err := h.entry(config)
	if err != nil {
		return nil, err
	}
	newline := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		newline = "\r\n"
	}
	path := []string{h.Key, EntryName}
	if found == nil {
		return h.appendTOML(data, *e, newline), nil
	}
	all, err := tables(data)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(t table) bool { return slices.Equal(t.path, path) })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s.%s is not a table with a header", ErrForm, h.Key, EntryName)
	}
	if e != nil {
		return all[i].set(data, *e, newline), nil
	}
	var out []byte
	rest := 0
	for _, t := range all {
		if len(t.path) < 2 || !slices.Equal(t.path[:2], path) {
			continue
		}
		before := data[rest:t.start]
		if blank := newline + newline; bytes.HasSuffix(before, []byte(blank)) {
			before = before[:len(before)-len(newline)]
		}
		out = append(out, before...)
		rest = t.end
	}
	return append(out, data[rest:]...), nil
}

// appendTOML returns data with a table for e at its end.
func (h *Host) appendTOML(data []byte, e Entry, newline string) []byte {
	out := bytes.Clone(data)
	if len(out) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, newline...)
		}
		out = append(out, newline...)
	}
	for _, line := range []string{"[" + h.Key + "." + EntryName + "]", commandTOML(e), argsTOML(e)} {
		out = append(out, line+newline...)
	}
	return out
}

// JSON strings are also strings of TOML.
func commandTOML(e Entry) string { return "command = " + string(hujson.String(e.Command)) }
func argsTOML(e Entry) string    { return "args = " + arrayOf(e.Args) }

// set returns data with the command and the arguments of e in the table t.
func (t *table) set(data []byte, e Entry, newline string) []byte {
	type edit struct {
		start, end int
		text       string
	}
	var edits []edit
	missing := map[string]string{"command": commandTOML(e), "args": argsTOML(e)}
	for _, s := range t.settings {
		switch name := s.key[0]; {
		case missing[name] != "" && len(s.key) == 1:
			edits = append(edits, edit{s.start, s.end, missing[name]})
			delete(missing, name)
		case slices.Contains(stale, name):
			start := bytes.LastIndexByte(data[:s.start], '\n') + 1
			edits = append(edits, edit{start, lineEnd(data, s.end), ""})
		}
	}
	header := lineEnd(data, t.start)
	for _, name := range []string{"args", "command"} {
		if text := missing[name]; text != "" {
			text += newline
			if data[header-1] != '\n' {
				text = newline + text
			}
			edits = append([]edit{{header, header, text}}, edits...)
		}
	}
	var out []byte
	rest := 0
	for _, change := range edits {
		out = append(append(out, data[rest:change.start]...), change.text...)
		rest = change.end
	}
	return append(out, data[rest:]...)
}
