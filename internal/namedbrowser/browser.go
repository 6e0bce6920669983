// Package namedbrowser defines the browsers that a user gives a name in the configuration file: their
// types, the keys of each type, and what a browser of a type needs to be opened.
package namedbrowser

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/chrome-mcp/chrome-mcp/internal/configfile"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// Setting is the setting of a configuration file that names browsers. Clients send it to the server as
// one JSON value.
const Setting = "browsers"

// The types of browsers.
const (
	Managed     = "managed"     // launched by this program
	Extension   = "extension"   // the user's Chrome
	Endpoint    = "endpoint"    // a running browser that this program attaches to
	Browserless = "browserless" // launched by a browserless service
)

// profile is what a token file calls a default browser with a persistent profile.
const profile = "profile"

// A Browser is a browser with a name. It has the fields of the keys of its type.
type Browser struct {
	Name           string `json:"name"`
	Type           string `json:"type"`
	Color          string `json:"color,omitempty"`
	Profile        string `json:"profile,omitempty"`
	URL            string `json:"url,omitempty"`
	DefaultContext bool   `json:"attach-default-context,omitempty"`
	HeadersFile    string `json:"headers-file,omitempty"`
	HeadersEnv     string `json:"headers-env,omitempty"`

	URLs      []string       `json:"urls,omitempty"`
	TokenFile string         `json:"token-file,omitempty"`
	TokenEnv  string         `json:"token-env,omitempty"`
	Launch    map[string]any `json:"launch,omitempty"`

	Source string `json:"-"` // position in the configuration file
}

// Describe returns the browser as the subject of an error.
func (b *Browser) Describe() string {
	if b.Source == "" {
		return "browser " + b.Name
	}
	return fmt.Sprintf("browser %s at %s", b.Name, b.Source)
}

// LaunchedHere reports whether chrome-mcp launches the browser on this machine.
func (b *Browser) LaunchedHere() bool { return b.Type == Managed }

// A kind is a type of named browsers. Each type has its own file.
type kind struct {
	name string
	keys []key
	// check checks keys that depend on each other. It may be nil.
	check func(*Browser) error
}

// types returns the types.
func types() []kind {
	return []kind{managedBrowsers(), extensionBrowsers(), endpointBrowsers(), browserlessBrowsers()}
}

// A key is a key of a browser in the configuration file. The value is a string, a boolean, a
// list of strings or an object: field returns a *string, a *bool, a *[]string or a *map[string]any.
type key struct {
	name, usage string
	required    bool
	file        bool               // the value is the path of a file
	check       func(string) error // may be nil
	field       func(*Browser) any
}

// colorKey is the key that all types have.
func colorKey() key {
	return key{name: "color", usage: "color by which you distinguish it, such as #1a73e8",
		field: func(b *Browser) any { return &b.Color },
		check: func(value string) error {
			if !validColor().MatchString(value) {
				return fmt.Errorf("%q is not a color such as #1a73e8", value)
			}
			return nil
		}}
}

var (
	validName  = lazyregexp.New(`^[a-z][a-z0-9_-]{0,15}$`)
	validColor = lazyregexp.New(`^#[0-9a-fA-F]{6}$`)
)

// checkName returns why a name cannot be that of a browser, or nil. Reserved are the
// prefixes of the ids of tabs, and what a token file uses as the name or type of a browser.
func checkName(name string) error {
	switch {
	case !validName().MatchString(name):
		return fmt.Errorf("%q is not a name of up to 16 lower-case letters, digits, - and _ that starts with a letter", name)
	case slices.Contains([]string{"cdp", "ext", "default", Managed, profile, Extension, Endpoint, Browserless}, name):
		return fmt.Errorf("the name %q is reserved", name)
	}
	return nil
}

// typeNamed returns the type with a name.
func typeNamed(name string) (kind, error) {
	all := types()
	if i := slices.IndexFunc(all, func(t kind) bool { return t.name == name }); i >= 0 {
		return all[i], nil
	}
	return kind{}, fmt.Errorf("%q is not %s", name, phrase.List(typeNames(all), "or"))
}

func typeNames(types []kind) (names []string) {
	for _, t := range types {
		names = append(names, t.name)
	}
	return names
}

// Parse returns the browsers in a value of a configuration file. Its errors start with the position.
func Parse(c *configfile.File, value hujson.Value) ([]Browser, error) {
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		return nil, c.Errorf(value.StartOffset, "browsers must be an object that maps names to browsers")
	}
	var all []Browser
	for _, m := range object.Members {
		at := m.Name.StartOffset
		b := Browser{Name: configfile.Name(m), Source: c.Position(at)}
		if err := checkName(b.Name); err != nil {
			return nil, c.Errorf(at, "browsers: %w", err)
		}
		if slices.ContainsFunc(all, func(other Browser) bool { return other.Name == b.Name }) {
			return nil, c.Errorf(at, "duplicate browser %q", b.Name)
		}
		if err := readBrowser(c, &b, m.Value); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// readBrowser sets the fields of b, which has a name.
func readBrowser(c *configfile.File, b *Browser, value hujson.Value) error {
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		return c.Errorf(value.StartOffset, "browser %s must be an object", b.Name)
	}
	names := typeNames(types())
	var t kind
	for _, m := range object.Members {
		if name, ok := m.Name.Value.(hujson.Literal); !ok || name.String() != "type" {
			continue
		}
		text, _ := m.Value.Value.(hujson.Literal)
		if m.Value.Value.Kind() != '"' {
			return c.Errorf(m.Value.StartOffset, "browser %s: type must be %s", b.Name, phrase.List(names, "or"))
		}
		var err error
		if t, err = typeNamed(text.String()); err != nil {
			return c.Errorf(m.Value.StartOffset, "browser %s: type %w", b.Name, err)
		}
		b.Type = t.name
		break
	}
	if b.Type == "" {
		return c.Errorf(value.StartOffset, "browser %s has no type; set it to %s", b.Name, phrase.List(names, "or"))
	}
	seen := map[string]bool{}
	for _, m := range object.Members {
		name := configfile.Name(m)
		if seen[name] {
			return c.Errorf(m.Name.StartOffset, "browser %s: duplicate key %q", b.Name, name)
		}
		seen[name] = true
		if name == "type" {
			continue
		}
		key := t.key(name)
		if key == nil {
			return c.Errorf(m.Name.StartOffset, "browser %s: %w", b.Name, t.unknownKey(name))
		}
		if err := readKey(c, b, key, m.Value); err != nil {
			return c.Errorf(m.Value.StartOffset, "browser %s: %s %w", b.Name, name, err)
		}
	}
	if err := t.checkBrowser(b); err != nil {
		return c.Errorf(value.StartOffset, "browser %s: %w", b.Name, err)
	}
	return nil
}

// readKey sets the field of one key.
func readKey(c *configfile.File, b *Browser, key *key, value hujson.Value) error {
	standard := value.Clone()
	standard.Standardize()
	field := key.field(b)
	err := json.Unmarshal(standard.Pack(), field)
	isNull := value.Value.Kind() == 'n'
	switch field := field.(type) {
	case *bool:
		if err != nil || isNull {
			return errors.New("must be true or false")
		}
	case *[]string:
		if err != nil || slices.Contains(*field, "") {
			return errors.New("must be a list of non-empty strings")
		}
	case *map[string]any:
		if err != nil || isNull {
			return errors.New("must be an object")
		}
	case *string:
		switch {
		case err != nil || isNull:
			return errors.New("must be a string")
		case *field == "":
			return errors.New("is empty; set a value or remove it")
		case key.file:
			*field = c.Resolve(*field)
		}
	}
	return nil
}

// key returns the key with a name, or nil.
func (t *kind) key(name string) *key {
	if i := slices.IndexFunc(t.keys, func(k key) bool { return k.name == name }); i >= 0 {
		return &t.keys[i]
	}
	return nil
}

// unknownKey returns the error for a key that browsers of the type do not have.
func (t *kind) unknownKey(name string) error {
	names := []string{"type"}
	for _, k := range t.keys {
		names = append(names, k.name)
	}
	if best := typo.Nearest(name, slices.Values(names)); best != "" {
		return fmt.Errorf("unknown key %q; did you mean %s?", name, best)
	}
	return fmt.Errorf("unknown key %q; the keys of type %s are %s", name, t.name, phrase.List(names, "and"))
}

// checkBrowser checks the values of a browser.
func (t *kind) checkBrowser(b *Browser) error {
	for _, k := range t.keys {
		field := k.field(b)
		if k.required && reflect.ValueOf(field).Elem().Len() == 0 {
			return fmt.Errorf("%s is missing", k.name)
		}
		if text, ok := field.(*string); ok && *text != "" && k.check != nil {
			if err := k.check(*text); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	if t.check != nil {
		return t.check(b)
	}
	return nil
}

// Schema returns the JSON Schema of the setting.
func Schema() map[string]any {
	var oneOf []any
	for _, t := range types() {
		properties := map[string]any{"type": map[string]any{"const": t.name}}
		required := []string{"type"}
		for _, k := range t.keys {
			schema := map[string]any{"type": "string", "minLength": 1, "description": k.usage}
			switch k.field(new(Browser)).(type) {
			case *bool:
				schema = map[string]any{"type": "boolean", "description": k.usage}
			case *[]string:
				schema = map[string]any{"type": "array", "items": map[string]any{"type": "string", "minLength": 1}, "minItems": 1, "description": k.usage}
			case *map[string]any:
				schema = map[string]any{"type": "object", "description": k.usage}
			}
			properties[k.name] = schema
			if k.required {
				required = append(required, k.name)
			}
		}
		oneOf = append(oneOf, map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	}
	return map[string]any{
		"type":                 "object",
		"propertyNames":        map[string]any{"pattern": validName().String()},
		"additionalProperties": map[string]any{"oneOf": oneOf},
	}
}

// Encode returns browsers as clients send them to the server.
func Encode(all []Browser) []string {
	data, err := json.Marshal(all)
	if err != nil {
		panic(err) // the values come from JSON
	}
	return []string{string(data)}
}

// Decode returns the browsers that Encode encoded.
func Decode(values []string) ([]Browser, error) {
	var all []Browser
	d := json.NewDecoder(strings.NewReader(strings.Join(values, "")))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		if _, unknown, ok := strings.Cut(err.Error(), "unknown field "); ok {
			return nil, fmt.Errorf("%s: unknown field %s", Setting, unknown)
		}
		return nil, fmt.Errorf("%s is not a JSON list of browsers, each with a name and a type", Setting)
	}
	for i := range all {
		b := &all[i]
		err := checkName(b.Name)
		if err == nil {
			var t kind
			if t, err = typeNamed(b.Type); err == nil {
				err = t.checkBrowser(b)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: browser %q: %w", Setting, b.Name, err)
		}
	}
	return all, nil
}
