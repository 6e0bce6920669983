package toolschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Param is one argument of a tool, declared by the tags of a field of its argument struct:
//
//	json        name; omitempty makes it optional
//	jsonschema  description
//	enum        the allowed values, separated by |
//	min, max    bounds of a number, inclusive
//	unit        the unit of a number, for error texts
//	alias       another name that is accepted but not published
//	empty       "ok" allows an empty string
type Param struct {
	Name     string
	Desc     string
	Required bool
	enum     []string
	min, max string
	unit     string
	Alias    string
	empty    bool
	typ      reflect.Type
	Index    []int
}

// A Custom is an argument type that decodes itself. Its errors do not name the argument; they
// begin with "must".
type Custom interface {
	DecodeArg(raw json.RawMessage) error
	ArgSchema() string // JSON schema without a description, and without braces
	Expected() string  // such as "a string", for error texts
}

var (
	customType  = reflect.TypeFor[Custom]()
	tabIDType   = reflect.TypeFor[executor.TabID]()
	refType     = reflect.TypeFor[executor.Ref]()
	changesType = reflect.TypeFor[executor.Changes]()
	rawJSONType = reflect.TypeFor[executor.RawJSON]()
)

// Params returns the arguments that struct t declares, in order, including those of embedded
// structs.
func Params(t reflect.Type) []Param {
	var ps []Param
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("json")
		if f.Anonymous || !ok {
			continue
		}
		name, opts, _ := strings.Cut(tag, ",")
		p := Param{
			Name: name, typ: f.Type, Index: f.Index,
			Required: opts != "omitempty",
			Desc:     f.Tag.Get("jsonschema"),
			min:      f.Tag.Get("min"), max: f.Tag.Get("max"),
			unit: f.Tag.Get("unit"), Alias: f.Tag.Get("alias"),
			empty: f.Tag.Get("empty") == "ok",
		}
		if e := f.Tag.Get("enum"); e != "" {
			p.enum = strings.Split(e, "|")
		}
		ps = append(ps, p)
	}
	return ps
}

// Input returns the schema of the arguments that struct t declares.
func Input(t reflect.Type) string {
	var props, required []string
	for _, p := range Params(t) {
		props = append(props, strconv.Quote(p.Name)+":{"+p.schema()+"}")
		if p.Required {
			required = append(required, strconv.Quote(p.Name))
		}
	}
	var b strings.Builder
	// Some hosts reject an object schema without the member properties, even if it would be empty.
	fmt.Fprintf(&b, `{"type":"object","properties":{%s}`, strings.Join(props, ","))
	if len(required) > 0 {
		fmt.Fprintf(&b, `,"required":[%s]`, strings.Join(required, ","))
	}
	b.WriteString(`,"additionalProperties":false}`)
	return b.String()
}

// schema returns the schema of p without its braces.
func (p *Param) schema() string {
	t := p.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var s string
	switch {
	case reflect.PointerTo(t).Implements(customType):
		s = reflect.New(t).Interface().(Custom).ArgSchema()
	case t.Kind() == reflect.Slice:
		s = `"type":"array","items":{"type":"string"` + p.enumSchema() + `}`
	default:
		s = `"type":"` + jsonType(t) + `"` + p.enumSchema()
	}
	if p.min != "" {
		s += `,"minimum":` + p.min
	}
	if p.max != "" {
		s += `,"maximum":` + p.max
	}
	if p.Desc != "" {
		s += `,"description":` + quoteJSON(p.Desc)
	}
	return s
}

func (p *Param) enumSchema() string {
	if len(p.enum) == 0 {
		return ""
	}
	return `,"enum":["` + strings.Join(p.enum, `","`) + `"]`
}

// OmittedFields are the result fields that output schemas omit: those that many tools share, and
// those that are rarely set.
var OmittedFields = []string{"note", "obstacle", "origin", "truncated", "browser", "browsers", "cdpClients", "cut", "detail", "dialogs", "displaced", "filesUrl", "fullHeight", "index", "mimeType", "missingFrames", "more", "nextClip", "omitted", "others", "released", "scale", "shortened", "suggestedName", "unsearched", "wholePage"}

// Output returns the JSON schema of result type t: its top-level fields and their types. It
// omits OmittedFields, path and bytes of a saved result, and the page changes of actions. They would
// be larger than the rest of the tool list. They are documented, and the schema allows additional
// fields.
func Output(t reflect.Type) string {
	var props []string
	for _, f := range JSONFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(OmittedFields, name) {
			continue
		}
		schema := `{}`
		if f.Type != rawJSONType {
			schema = `{"type":"` + jsonType(f.Type) + `"}`
		}
		props = append(props, strconv.Quote(name)+":"+schema)
	}
	return `{"type":"object","properties":{` + strings.Join(props, ",") + `}}`
}

// JSONFields returns the fields of t that encoding/json encodes, including those of embedded
// structs and pointers to structs, but without page changes.
func JSONFields(t reflect.Type) []reflect.StructField {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var fs []reflect.StructField
	for f := range t.Fields() {
		switch tag := f.Tag.Get("json"); {
		case f.Type == changesType:
		case f.Anonymous && tag == "":
			fs = append(fs, JSONFields(f.Type)...)
		case f.IsExported() && tag != "-":
			fs = append(fs, f)
		}
	}
	return fs
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Struct:
		return "object"
	}
	panic("no JSON type for " + t.String())
}

// quoteJSON returns s as a JSON string without escaping <, > and &, because each escape takes six
// bytes. s must not contain control characters.
func quoteJSON(s string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return `"` + r.Replace(s) + `"`
}
