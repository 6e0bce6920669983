package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tailscale/hujson"

	"github.com/chrome-mcp/chrome-mcp/internal/configfile"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const (
	// NoConfig is the value of --config for no configuration file.
	NoConfig = "none"
	// configHint is the hint for a configuration file that cannot be used.
	configHint = "Correct the file, or pass --config none."
)

// defaultConfig returns the path of the configuration file that is read without --config.
func defaultConfig() (string, error) {
	dir, err := os.UserConfigDir()
	if xdg := os.Getenv("XDG_CONFIG_HOME"); runtime.GOOS == "linux" && xdg != "" && !filepath.IsAbs(xdg) {
		// The XDG Base Directory Specification requires that relative paths are ignored.
		dir, err = os.UserHomeDir()
		dir = filepath.Join(dir, ".config")
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "chrome-mcp", "config.json"), nil
}

// fromConfig sets the flags that neither the command line nor a variable sets, from the
// configuration file.
func (s *Settings) fromConfig(flags *pflag.FlagSet, groups []flagGroup) error {
	path := s.config
	if path == NoConfig {
		return nil
	}
	if path == "" {
		var err error
		if path, err = defaultConfig(); err != nil {
			return nil // the file is in the home directory, which is unknown
		}
		if !filepath.IsAbs(path) { // the directory of a relative path is the working directory
			return Usagef("Correct the variable of your home or configuration directory, or pass --config none.",
				"the path of the configuration file, %s, is not absolute", path)
		}
	}
	file, err := readConfig(path)
	if s.config == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var members []hujson.ObjectMember
	if err == nil {
		members, err = file.Members(file.Root)
	}
	if err != nil {
		return Usagef(configHint, "configuration file %w", err)
	}
	given, overridden := map[string]bool{}, map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name], overridden[f.Name] = true, true })
	for _, pair := range exclusiveFlags {
		overridden[pair[0]] = overridden[pair[0]] || given[pair[1]]
		overridden[pair[1]] = overridden[pair[1]] || given[pair[0]]
	}
	known := configFlags(groups)
	seen := map[string]bool{}
	for _, m := range members {
		name, at := configfile.Name(m), file.Position(m.Name.StartOffset)
		flag := known[name]
		switch {
		case name == "$schema":
			continue
		case flag == nil && name != namedbrowser.Setting:
			return Usagef("`chrome-mcp help flags` lists the flags; a setting is a flag without its dashes.",
				"%s: unknown setting %q", at, name).suggest(name, known)
		case seen[name]:
			return Usagef("Remove one of them.", "%s: duplicate setting %q", at, name)
		}
		seen[name] = true
		if name == namedbrowser.Setting {
			if s.Browsers, err = namedbrowser.Parse(file, m.Value); err != nil {
				return Usagef(configHint, "%w", err)
			}
			continue
		}
		values, err := settingValues(file, flag, m.Value)
		if err != nil {
			return Usagef(configHint, "%s: %s %w", file.Position(m.Value.StartOffset), name, err)
		}
		if overridden[name] {
			continue
		}
		for _, v := range values {
			if err := flags.Set(name, v); err != nil {
				return Usagef(configHint, "%s: %s: %s", file.Position(m.Value.StartOffset), name, reason(err))
			}
		}
		s.sources[name] = at
	}
	return nil
}

// configFlags returns the flags that are settings of a configuration file, by name.
func configFlags(groups []flagGroup) map[string]*pflag.Flag {
	known := map[string]*pflag.Flag{}
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(commandFlags, f.Name) {
				known[f.Name] = f
			}
		})
	}
	return known
}

// readConfig reads a configuration file. On Unix, a file that users other than the current user and
// root can change or replace is an error, because it grants permissions.
func readConfig(path string) (*configfile.File, error) {
	text, err := owneronly.ReadTrusted(path, configfile.MaxBytes)
	if err != nil {
		return nil, err // contains the file name
	}
	return configfile.Parse(path, text)
}

// errEmptySetting is the error of a setting without a value.
var errEmptySetting = errors.New("is empty; set a value or remove it")

// settingValues returns the values that a setting has, as the flag takes them. Relative paths are relative
// to the directory of the file.
func settingValues(file *configfile.File, flag *pflag.Flag, v hujson.Value) ([]string, error) {
	schema := settingSchema(flag)
	literal, _ := v.Value.(hujson.Literal)
	switch schema["type"] {
	case "boolean":
		if k := v.Value.Kind(); k != 't' && k != 'f' {
			return nil, errors.New("must be true or false")
		}
		return []string{string(literal)}, nil
	case "integer":
		if v.Value.Kind() != '0' {
			return nil, errors.New("must be a number")
		}
		return []string{string(literal)}, nil
	case "array":
		list, ok := v.Value.(*hujson.Array)
		if !ok {
			return nil, errors.New("must be a list of strings")
		}
		var values []string
		for _, element := range list.Elements {
			text, ok := element.Value.(hujson.Literal)
			if !ok || text.Kind() != '"' {
				return nil, errors.New("must be a list of strings")
			}
			values = append(values, text.String())
		}
		switch {
		case flag.Value.Type() == "stringArray":
			return values, nil
		case len(values) == 0: // the flag would have its default, which may be everything
			return nil, errEmptySetting
		}
		return []string{strings.Join(values, ",")}, nil
	}
	if v.Value.Kind() != '"' {
		return nil, errors.New("must be a string")
	}
	text := literal.String()
	if text == "" {
		return nil, errEmptySetting
	}
	if kind, _ := pflag.UnquoteUsage(flag); kind == "FILE" || kind == "DIR" || kind == "NAME|PATH" && launch.IsPath(text) {
		return []string{file.Resolve(text)}, nil
	}
	return []string{text}, nil
}

// settingSchema returns the JSON Schema of the setting of a flag.
func settingSchema(flag *pflag.Flag) map[string]any {
	_, usage := pflag.UnquoteUsage(flag)
	schema := map[string]any{"description": usage}
	word := map[string]any{"type": "string"}
	if limited, ok := flag.Value.(limitedValue); ok {
		word["enum"] = limited.allowed()
	}
	switch flag.Value.Type() {
	case "bool":
		schema["type"] = "boolean"
	case "N", "PORT":
		schema["type"] = "integer"
	case "stringArray":
		schema["type"], schema["items"] = "array", word
	case "LIST", "names":
		schema["type"], schema["items"], schema["minItems"] = "array", word, 1
	default:
		schema["type"] = "string"
		if word["enum"] != nil {
			schema["enum"] = word["enum"]
		}
	}
	return schema
}

// configSchema returns the JSON Schema of a configuration file.
func configSchema(groups []flagGroup) map[string]any {
	browsers := namedbrowser.Schema()
	browsers["description"] = "browsers by name, in addition to the default browser; tab_new opens tabs in them"
	properties := map[string]any{"$schema": map[string]any{"type": "string"}, namedbrowser.Setting: browsers}
	for name, flag := range configFlags(groups) {
		properties[name] = settingSchema(flag)
	}
	return map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "Configuration of chrome-mcp",
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": false,
	}
}

func configCommand(s *Settings, groups []flagGroup) *cobra.Command {
	cmd := s.Command("config", "print the configuration file and the settings in effect", func(_ context.Context, s *Settings, stdout io.Writer) error {
		return s.printConfig(stdout, groups)
	})
	schema := s.Command("schema", "print the JSON Schema of a configuration file", func(_ context.Context, _ *Settings, stdout io.Writer) error {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(configSchema(groups))
	})
	cmd.AddCommand(schema)
	return cmd
}

// printConfig prints the path of the configuration file, and each setting that is not the default
// with where it was set.
func (s *Settings) printConfig(w io.Writer, groups []flagGroup) error {
	path := s.config
	if path == "" {
		var err error
		if path, err = defaultConfig(); err != nil {
			return err
		}
		if !Exists(path) {
			path += " (does not exist)"
		}
	}
	_, err := fmt.Fprintf(w, "configuration file: %s\n", path)
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Changed || f.Name == "config" {
				return
			}
			value := f.Value.String()
			if f.Name == "cdp-endpoint" || f.Name == "proxy" {
				value = "(not shown)" // it may contain a token or a password
			}
			_, err = fmt.Fprintf(w, "%s: %s (%s)\n", f.Name, value, cmp.Or(s.sources[f.Name], "--"+f.Name))
		})
	}
	for _, b := range s.Browsers {
		_, err = fmt.Fprintf(w, "browser %s: %s (%s)\n", b.Name, b.Type, b.Source)
	}
	return err
}
