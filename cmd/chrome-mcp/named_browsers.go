package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsers"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// browsersSetting is the setting of a configuration file that names browsers. Clients send it to
// the server as one JSON value.
const browsersSetting = "browsers"

// A namedBrowser is a browser with a name. It has the fields of the keys of its type.
type namedBrowser struct {
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

	source string // position in the configuration file
}

// describe returns the browser as the subject of an error.
func (b *namedBrowser) describe() string {
	if b.source == "" {
		return "browser " + b.Name
	}
	return fmt.Sprintf("browser %s at %s", b.Name, b.source)
}

// launchedHere reports whether chrome-mcp launches the browser on this machine.
func (b *namedBrowser) launchedHere() bool { return b.Type == browserManaged }

// A browserType is a type of named browsers. Each type has its own file.
type browserType struct {
	name string
	keys []browserKey
	// check checks keys that depend on each other. It may be nil.
	check func(*namedBrowser) error
	// open returns the Executor of a session for a browser. It starts nothing.
	open func(*browserOpener, *namedBrowser) (executor.Executor, error)
}

// browserTypes returns the types.
func browserTypes() []browserType {
	return []browserType{managedBrowsers(), extensionBrowsers(), endpointBrowsers(), browserlessBrowsers()}
}

// A browserKey is a key of a browser in the configuration file. The value is a string, a boolean, a
// list of strings or an object: field returns a *string, a *bool, a *[]string or a *map[string]any.
type browserKey struct {
	name, usage string
	required    bool
	file        bool               // the value is the path of a file
	check       func(string) error // may be nil
	field       func(*namedBrowser) any
}

// colorKey is the key that all types have.
func colorKey() browserKey {
	return browserKey{name: "color", usage: "color by which you distinguish it, such as #1a73e8",
		field: func(b *namedBrowser) any { return &b.Color },
		check: func(value string) error {
			if !browserColor().MatchString(value) {
				return fmt.Errorf("%q is not a color such as #1a73e8", value)
			}
			return nil
		}}
}

var (
	browserName  = lazyregexp.New(`^[a-z][a-z0-9_-]{0,15}$`)
	browserColor = lazyregexp.New(`^#[0-9a-fA-F]{6}$`)
)

// checkBrowserName returns why a name cannot be that of a browser, or nil. Reserved are the
// prefixes of the ids of tabs, and what a token file uses as the name or type of a browser.
func checkBrowserName(name string) error {
	switch {
	case !browserName().MatchString(name):
		return fmt.Errorf("%q is not a name of up to 16 lower-case letters, digits, - and _ that starts with a letter", name)
	case slices.Contains([]string{"cdp", "ext", "default", browserManaged, browserProfile, browserExtension, browserEndpoint, browserBrowserless}, name):
		return fmt.Errorf("the name %q is reserved", name)
	}
	return nil
}

// typeOfBrowser returns the type with a name.
func typeOfBrowser(name string) (browserType, error) {
	types := browserTypes()
	if i := slices.IndexFunc(types, func(t browserType) bool { return t.name == name }); i >= 0 {
		return types[i], nil
	}
	return browserType{}, fmt.Errorf("%q is not %s", name, list(typeNames(types), "or"))
}

func typeNames(types []browserType) (names []string) {
	for _, t := range types {
		names = append(names, t.name)
	}
	return names
}

// namedBrowsers returns the browsers in a value of the configuration file. Its errors start with
// the position.
func (c *configFile) namedBrowsers(value hujson.Value) ([]namedBrowser, error) {
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		return nil, c.errorAt(value.StartOffset, "browsers must be an object that maps names to browsers")
	}
	var all []namedBrowser
	for _, m := range object.Members {
		at := m.Name.StartOffset
		b := namedBrowser{Name: m.Name.Value.(hujson.Literal).String(), source: c.position(at)}
		if err := checkBrowserName(b.Name); err != nil {
			return nil, c.errorAt(at, "browsers: %w", err)
		}
		if slices.ContainsFunc(all, func(other namedBrowser) bool { return other.Name == b.Name }) {
			return nil, c.errorAt(at, "duplicate browser %q", b.Name)
		}
		if err := c.readBrowser(&b, m.Value); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// errorAt returns an error that starts with a position.
func (c *configFile) errorAt(offset int, format string, args ...any) error {
	return fmt.Errorf("%s: %w", c.position(offset), fmt.Errorf(format, args...))
}

// readBrowser sets the fields of b, which has a name.
func (c *configFile) readBrowser(b *namedBrowser, value hujson.Value) error {
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		return c.errorAt(value.StartOffset, "browser %s must be an object", b.Name)
	}
	names := typeNames(browserTypes())
	var kind browserType
	for _, m := range object.Members {
		if name, ok := m.Name.Value.(hujson.Literal); !ok || name.String() != "type" {
			continue
		}
		text, _ := m.Value.Value.(hujson.Literal)
		if m.Value.Value.Kind() != '"' {
			return c.errorAt(m.Value.StartOffset, "browser %s: type must be %s", b.Name, list(names, "or"))
		}
		var err error
		if kind, err = typeOfBrowser(text.String()); err != nil {
			return c.errorAt(m.Value.StartOffset, "browser %s: type %w", b.Name, err)
		}
		b.Type = kind.name
		break
	}
	if b.Type == "" {
		return c.errorAt(value.StartOffset, "browser %s has no type; set it to %s", b.Name, list(names, "or"))
	}
	seen := map[string]bool{}
	for _, m := range object.Members {
		name := m.Name.Value.(hujson.Literal).String()
		if seen[name] {
			return c.errorAt(m.Name.StartOffset, "browser %s: duplicate key %q", b.Name, name)
		}
		seen[name] = true
		if name == "type" {
			continue
		}
		key := kind.key(name)
		if key == nil {
			return c.errorAt(m.Name.StartOffset, "browser %s: %w", b.Name, kind.unknownKey(name))
		}
		if err := c.readBrowserKey(b, key, m.Value); err != nil {
			return c.errorAt(m.Value.StartOffset, "browser %s: %s %w", b.Name, name, err)
		}
	}
	if err := kind.checkBrowser(b); err != nil {
		return c.errorAt(value.StartOffset, "browser %s: %w", b.Name, err)
	}
	return nil
}

// readBrowserKey sets the field of one key.
func (c *configFile) readBrowserKey(b *namedBrowser, key *browserKey, value hujson.Value) error {
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
			*field = c.resolve(*field)
		}
	}
	return nil
}

// key returns the key with a name, or nil.
func (t *browserType) key(name string) *browserKey {
	if i := slices.IndexFunc(t.keys, func(k browserKey) bool { return k.name == name }); i >= 0 {
		return &t.keys[i]
	}
	return nil
}

// unknownKey returns the error for a key that browsers of the type do not have.
func (t *browserType) unknownKey(name string) error {
	names := []string{"type"}
	for _, k := range t.keys {
		names = append(names, k.name)
	}
	if best := typo.Nearest(name, slices.Values(names)); best != "" {
		return fmt.Errorf("unknown key %q; did you mean %s?", name, best)
	}
	return fmt.Errorf("unknown key %q; the keys of type %s are %s", name, t.name, list(names, "and"))
}

// checkBrowser checks the values of a browser.
func (t *browserType) checkBrowser(b *namedBrowser) error {
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

// browsersSchema returns the JSON Schema of the setting.
func browsersSchema() map[string]any {
	var types []any
	for _, t := range browserTypes() {
		properties := map[string]any{"type": map[string]any{"const": t.name}}
		required := []string{"type"}
		for _, k := range t.keys {
			schema := map[string]any{"type": "string", "minLength": 1, "description": k.usage}
			switch k.field(new(namedBrowser)).(type) {
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
		types = append(types, map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	}
	return map[string]any{
		"type":                 "object",
		"description":          "browsers by name, in addition to the default browser; tab_new opens tabs in them",
		"propertyNames":        map[string]any{"pattern": browserName().String()},
		"additionalProperties": map[string]any{"oneOf": types},
	}
}

// encodeBrowsers returns browsers as clients send them to the server.
func encodeBrowsers(all []namedBrowser) []string {
	data, err := json.Marshal(all)
	if err != nil {
		panic(err) // the values come from JSON
	}
	return []string{string(data)}
}

// setBrowsers sets the browsers that encodeBrowsers encoded.
func (s *settings) setBrowsers(values []string) error {
	s.browsers = nil
	d := json.NewDecoder(strings.NewReader(strings.Join(values, "")))
	d.DisallowUnknownFields()
	if err := d.Decode(&s.browsers); err != nil {
		if _, unknown, ok := strings.Cut(err.Error(), "unknown field "); ok {
			return usagef("", "%s: unknown field %s", browsersSetting, unknown)
		}
		return usagef("", "%s is not a JSON list of browsers, each with a name and a type", browsersSetting)
	}
	for i := range s.browsers {
		b := &s.browsers[i]
		err := checkBrowserName(b.Name)
		if err == nil {
			var t browserType
			if t, err = typeOfBrowser(b.Type); err == nil {
				err = t.checkBrowser(b)
			}
		}
		if err != nil {
			return usagef("", "%s: browser %q: %w", browsersSetting, b.Name, err)
		}
	}
	return nil
}

// checkBrowsers checks that the browsers do not need the same profile or the same extension. With a
// browser for the extension, the default browser is one that chrome-mcp launches or attaches to, so
// that each browser has one name.
func (s *settings) checkBrowsers() error {
	profiles := map[string]string{}
	var extension *namedBrowser
	for i := range s.browsers {
		b := &s.browsers[i]
		switch {
		case b.Type == browserExtension && extension != nil:
			return usagef("Remove one of them.", "%s has the type extension, as browser %s does", b.describe(), extension.Name)
		case b.Type == browserExtension:
			extension = b
		case b.Profile != "" && profiles[b.Profile] != "":
			return usagef("Give it another profile.", "%s has the profile %s, as browser %s does", b.describe(), b.Profile, profiles[b.Profile])
		case b.Profile != "":
			profiles[b.Profile] = b.Name
		}
	}
	if extension == nil {
		return nil
	}
	for _, flag := range []string{"prefer", "no-cdp-fallback"} {
		if flag == "prefer" && s.given(flag) && s.prefer == string(executor.BackendExtension) || flag == "no-cdp-fallback" && s.noCDPFallback {
			return usagef("Remove one of them. With a browser of type extension, the user's Chrome is used only under its name.", "%s and %s are mutually exclusive", extension.describe(), s.nameOf(flag))
		}
	}
	s.prefer = string(executor.BackendCDP)
	return nil
}

// checkDefaultProfile checks that no named browser has the profile of the default browser.
func (s *settings) checkDefaultProfile() error {
	if s.isolated || s.cdpEndpoint != "" {
		return nil
	}
	for i := range s.browsers {
		if b := &s.browsers[i]; b.Profile == s.profile {
			return usagef("Give it another profile, or set --isolated or another --profile for the default browser.",
				"%s has the profile %s, which is that of the default browser", b.describe(), b.Profile)
		}
	}
	return nil
}

// namesExtension reports whether a named browser is the user's Chrome.
func (s *settings) namesExtension() bool {
	return slices.ContainsFunc(s.browsers, func(b namedBrowser) bool { return b.Type == browserExtension })
}

// browsersOf returns the settings of the named browsers that a token gives access to, and the names
// that are not theirs. It returns nil without named browsers.
func (s *settings) browsersOf(names []string) (setting []string, others []string) {
	var chosen []namedBrowser
	for _, name := range names {
		if i := slices.IndexFunc(s.browsers, func(b namedBrowser) bool { return b.Name == name }); i >= 0 {
			chosen = append(chosen, s.browsers[i])
		} else {
			others = append(others, name)
		}
	}
	if chosen != nil {
		setting = encodeBrowsers(chosen)
	}
	return setting, others
}

// addBrowsers adds the named browsers to the settings that a client sends to the server.
func (s *settings) addBrowsers(values server.Settings) {
	if s.browsers != nil {
		values[browsersSetting] = encodeBrowsers(s.browsers)
	}
}

// withNamed returns the Executor for the default browser main and the named browsers.
func (o *browserOpener) withNamed(main executor.Executor) executor.Executor {
	var all []browsers.Browser
	for i := range o.settings.browsers {
		b := &o.settings.browsers[i]
		all = append(all, browsers.Browser{Name: b.Name, Type: b.Type, Color: b.Color, ListUnopened: b.Type == browserExtension,
			Open: func() (executor.Executor, error) {
				t, err := typeOfBrowser(b.Type)
				if err != nil {
					return nil, err
				}
				return t.open(o, b)
			}})
	}
	return browsers.New(main, all)
}
