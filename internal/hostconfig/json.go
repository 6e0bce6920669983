package hostconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// byteOrderMark begins files that some editors of Windows write.
var byteOrderMark = []byte("\ufeff")

// parseJSON returns the content of a file in JSON or JSONC. An empty file is an empty object.
func (h *Host) parseJSON(data []byte) (map[string]any, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	v, err := hujson.Parse(bytes.Clone(data))
	if err != nil {
		e := &SyntaxError{Line: 1, Column: 1, Message: strings.TrimPrefix(err.Error(), "hujson: ")}
		if n, _ := fmt.Sscanf(e.Message, "line %d, column %d:", &e.Line, &e.Column); n == 2 {
			_, e.Message, _ = strings.Cut(e.Message, ": ")
		}
		return nil, e
	}
	if h.Format == JSON && !v.IsStandard() {
		var raw json.RawMessage
		if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &raw)); ok {
			return nil, syntaxError(data, int(syntax.Offset)-1, "%s cannot read this: %v", h.Title, syntax)
		}
	}
	root, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, syntaxError(data, v.StartOffset, "the file is not a JSON object")
	}
	if err := unique(data, root, h.Key); err != nil {
		return nil, err
	}
	if i := find(root, h.Key); i >= 0 {
		servers, ok := root.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil, syntaxError(data, root.Members[i].Value.StartOffset, "%s is not a JSON object", h.Key)
		}
		if err := unique(data, servers, EntryName); err != nil {
			return nil, err
		}
	}
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	var config map[string]any
	err = d.Decode(&config)
	return config, err
}

// unique returns an error if an object has two members of a name.
func unique(data []byte, o *hujson.Object, name string) error {
	first := find(o, name)
	for i, m := range o.Members {
		if i != first && m.Name.Value.(hujson.Literal).String() == name {
			return syntaxError(data, m.Name.StartOffset, "%s occurs twice", name)
		}
	}
	return nil
}

// find returns the index of the member of a name, or -1.
func find(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
		return m.Name.Value.(hujson.Literal).String() == name
	})
}

// A layout is how the lines of a file are written. The zero layout is that of an object on one line.
type layout struct{ newline, unit string }

// editJSON returns data with the entry e, or without the entry if e is nil. parseJSON accepted data.
func (h *Host) editJSON(data []byte, e *Entry) ([]byte, error) {
	text, hasMark := bytes.CutPrefix(data, byteOrderMark)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	v, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	root := v.Value.(*hujson.Object)
	style := layout{"\n", "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		style.newline = "\r\n"
	}
	if indent, ok := style.indent(root); ok && indent != "" {
		style.unit = indent
	}
	i := find(root, h.Key)
	switch {
	case e == nil:
		servers := root.Members[i].Value.Value.(*hujson.Object)
		style.remove(servers, find(servers, EntryName))
	case i < 0:
		style.add(root, "", h.Key, func(l layout, indent string) string {
			return l.object(indent, l.member(EntryName, l.entry(*e, h.typed, indent+l.unit)))
		})
	default:
		outer, _ := style.indent(root)
		h.set(root.Members[i].Value.Value.(*hujson.Object), outer, style, *e)
	}
	out := v.Pack()
	if hasMark {
		out = append(bytes.Clone(byteOrderMark), out...)
	}
	return out, nil
}

// set adds the entry e to servers, or changes it there. outer is the indentation of the line with
// the end of servers.
func (h *Host) set(servers *hujson.Object, outer string, style layout, e Entry) {
	i := find(servers, EntryName)
	if i < 0 {
		style.add(servers, outer, EntryName, func(l layout, indent string) string { return l.entry(e, h.typed, indent) })
		return
	}
	indent, ok := style.indent(servers)
	if !ok {
		indent = outer + style.unit
	}
	value := &servers.Members[i].Value
	entry, ok := value.Value.(*hujson.Object)
	if !ok {
		value.Value = mustParse(style.entry(e, h.typed, indent))
		return
	}
	for _, name := range stale {
		if i := find(entry, name); i >= 0 {
			style.remove(entry, i)
		}
	}
	style.replace(entry, indent, "command", string(hujson.String(e.Command)))
	style.replace(entry, indent, "args", arrayOf(e.Args))
	if find(entry, "type") >= 0 {
		style.replace(entry, indent, "type", `"stdio"`)
	}
}

// entry returns an entry as JSON. indent is the indentation of its end.
func (l layout) entry(e Entry, typed bool, indent string) string {
	members := []string{l.member("command", string(hujson.String(e.Command))), l.member("args", arrayOf(e.Args))}
	if typed {
		members = append([]string{l.member("type", `"stdio"`)}, members...)
	}
	return l.object(indent, members...)
}

// member returns a member of an object as JSON.
func (l layout) member(name, value string) string {
	colon := ":"
	if l.newline != "" {
		colon = ": "
	}
	return string(hujson.String(name)) + colon + value
}

// object returns an object as JSON. indent is the indentation of its end.
func (l layout) object(indent string, members ...string) string {
	between := l.newline + indent + l.unit
	return "{" + between + strings.Join(members, ","+between) + l.newline + indent + "}"
}

// arrayOf returns a JSON array of strings, which is also one of TOML.
func arrayOf(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = string(hujson.String(word))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// mustParse returns the value of JSON that this package wrote.
func mustParse(text string) hujson.ValueTrimmed {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v.Value
}

// indent returns the indentation of the members of an object, and whether they are on separate lines.
func (l layout) indent(o *hujson.Object) (string, bool) {
	if len(o.Members) == 0 {
		return "", false
	}
	return lastLine(o.Members[0].Name.BeforeExtra)
}

// lastLine returns the white space at the end of extra that follows a newline.
func lastLine(extra hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 || len(bytes.TrimLeft(extra[i+1:], " \t")) > 0 {
		return "", false
	}
	return string(extra[i+1:]), true
}

// add adds a member at the end of an object. outer is the indentation of the object's end. The
// function value returns the value for the layout and the indentation of the member.
func (l layout) add(o *hujson.Object, outer, name string, value func(l layout, indent string) string) {
	key := hujson.Value{Value: hujson.String(name)}
	indent, lines := l.indent(o)
	if len(o.Members) > 0 && !lines && !bytes.Contains(o.AfterExtra, []byte("\n")) {
		first := o.Members[0]
		if len(first.Value.BeforeExtra) > 0 || len(first.Name.BeforeExtra) > 0 {
			key.BeforeExtra = hujson.Extra(" ")
		}
		l.append(o, key, hujson.Value{BeforeExtra: first.Value.BeforeExtra, Value: mustParse(value(layout{}, ""))})
		return
	}
	if !lines {
		indent = outer + l.unit
	}
	end := outer
	if found, ok := lastLine(o.AfterExtra); ok {
		end = found
	}
	key.BeforeExtra = append(bytes.TrimRight(o.AfterExtra, " \t\r\n"), l.newline+indent...)
	o.AfterExtra = hujson.Extra(l.newline + end)
	l.append(o, key, hujson.Value{BeforeExtra: hujson.Extra(" "), Value: mustParse(value(l, indent))})
}

// append appends a member, with a trailing comma if the last member has one.
func (l layout) append(o *hujson.Object, key, value hujson.Value) {
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		value.AfterExtra = hujson.Extra{} // means a comma
	}
	o.Members = append(o.Members, hujson.ObjectMember{Name: key, Value: value})
}

// replace sets a member to a value, and adds it if it is missing. outer is the indentation of the
// object's end.
func (l layout) replace(o *hujson.Object, outer, name, value string) {
	i := find(o, name)
	if i < 0 {
		l.add(o, outer, name, func(layout, string) string { return value })
		return
	}
	want := mustParse(value)
	packed := func(v hujson.ValueTrimmed) string {
		clean := hujson.Value{Value: v}
		clean = clean.Clone()
		clean.Minimize()
		return string(clean.Pack())
	}
	if packed(o.Members[i].Value.Value) != packed(want) {
		o.Members[i].Value.Value = want
	}
}

// remove removes a member. The comments before it remain.
func (l layout) remove(o *hujson.Object, i int) {
	last := len(o.Members) - 1
	comma := o.Members[last].Value.AfterExtra != nil
	kept := bytes.TrimRight(o.Members[i].Name.BeforeExtra, " \t\r\n")
	o.Members = slices.Delete(o.Members, i, i+1)
	next := &o.AfterExtra
	if i < last {
		next = &o.Members[i].Name.BeforeExtra
	} else if last > 0 {
		previous := &o.Members[last-1].Value
		if comma && previous.AfterExtra == nil {
			previous.AfterExtra = hujson.Extra{} // means a comma
		} else if !comma {
			kept = append(bytes.Clone(previous.AfterExtra), kept...)
			previous.AfterExtra = nil
		}
	}
	if len(kept) > 0 {
		if rest := bytes.TrimLeft(*next, " \t\r"); len(rest) == 0 || rest[0] != '\n' {
			kept = append(kept, l.newline...)
		}
		*next = append(bytes.Clone(kept), *next...)
	}
	if len(o.Members) == 0 && len(bytes.TrimSpace(o.AfterExtra)) == 0 {
		o.AfterExtra = nil
	}
}
