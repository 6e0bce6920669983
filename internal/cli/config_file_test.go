package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chrome-mcp/chrome-mcp/internal/configfile"
)

// writeConfig writes a configuration file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sampleConfig has a setting of each type.
const sampleConfig = `// My settings.
{
	"$schema": "chrome-mcp.schema.json",
	"allow-domain": ["example.com", "*.example.com"], // both
	"enable-mutations": true,
	"headless": false,
	"profile": "work",
	"max-tabs": 7,
	"max-download": "20MB",
	"viewport": "800x600",
	"log-level": "info",
	"prefer": "cdp",
	"port": 0,
	"tools": ["core", "files"],
	"secrets": ["shop", "mail"],
	"policy": "rules.json",
	"audit-log": "~/audit.jsonl",
	"uploads-dir": "/srv/uploads", /* absolute */
}
`

func TestConfigFile(t *testing.T) {
	path := writeConfig(t, sampleConfig)
	s, err := Parse([]string{"--config", path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.AllowDomain, []string{"example.com", "*.example.com"}) || !s.Mutations || s.Headless || !s.Given("headless") ||
		s.Profile != "work" || s.MaxTabs != 7 || s.MaxDownload != 20<<20 || s.Viewport != (viewport{800, 600}) || s.LogLevel.String() != "info" ||
		s.Prefer != "cdp" || !s.Port.given || len(s.Tools) != 2 || s.Secrets.String() != "mail,shop" {
		t.Errorf("settings %+v", s)
	}
	for got, want := range map[string]string{
		s.PolicyFile: filepath.Join(filepath.Dir(path), "rules.json"),
		s.AuditLog:   filepath.Join(home, "audit.jsonl"),
		s.UploadsDir: "/srv/uploads",
	} {
		if filepath.ToSlash(got) != filepath.ToSlash(want) && runtime.GOOS != "windows" {
			t.Errorf("path %s, want %s", got, want)
		}
	}
	if got := s.NameOf("profile"); got != "profile at "+path+":7:2" {
		t.Errorf("the profile is %s", got)
	}
}

// TestConfigBrowserPath checks that the path of a browser is relative to the file, as other paths are.
// The working directory is often a cloned repository, whose programs must not run.
func TestConfigBrowserPath(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for value, want := range map[string]string{
		"chrome":          "chrome",
		"chrome-dev/bin":  "DIR/chrome-dev/bin",
		"./chrome":        "DIR/chrome",
		"~/chrome/chrome": filepath.ToSlash(home) + "/chrome/chrome",
	} {
		path := writeConfig(t, `{"browser": "`+value+`"}`)
		s, err := Parse([]string{"--config", path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want = strings.Replace(want, "DIR", filepath.ToSlash(filepath.Dir(path)), 1); filepath.ToSlash(s.Browser) != want {
			t.Errorf("browser %s: %s, want %s", value, s.Browser, want)
		}
	}
}

// TestConfigIsOverridden checks that flags and variables override the file, also flags that exclude
// one of its settings.
func TestConfigIsOverridden(t *testing.T) {
	path := writeConfig(t, `{"profile": "work", "allow-domain": ["file.example"], "prefer": "cdp", "viewport": "800x600"}`)
	s, err := Parse([]string{"--isolated", "--allow-domain", "flag.example"}, []string{"CHROME_MCP_CONFIG=" + path, "CHROME_MCP_PREFER=extension"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Given("profile") || !s.Isolated || !slices.Equal(s.AllowDomain, []string{"flag.example"}) || s.Prefer != "extension" || s.Viewport.Width != 800 {
		t.Errorf("settings %+v", s)
	}
}

// TestDefaultConfigDir checks that a relative directory variable neither drops the file nor reads one
// in the working directory.
func TestDefaultConfigDir(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("its directory can be set on Linux only")
	}
	home := t.TempDir()
	file := filepath.Join(home, ".config", "chrome-mcp", "config.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"block-domain": ["bank.example"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(home))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "configuration")
	if s, err := Parse(nil, nil); err != nil || !slices.Equal(s.BlockDomain, []string{"bank.example"}) {
		t.Errorf("relative XDG_CONFIG_HOME: blocked %q, %v", s.BlockDomain, err)
	}
	t.Setenv("HOME", filepath.Base(home))
	_, err := Parse(nil, nil)
	if usage, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(usage.Error(), "is not absolute") {
		t.Errorf("relative HOME: %v", err)
	}
	if _, err := Parse([]string{"--config", "none"}, nil); err != nil {
		t.Errorf("relative HOME without a file: %v", err)
	}
	t.Setenv("HOME", "")
	if _, err := Parse([]string{"--data", home}, nil); err != nil {
		t.Errorf("without HOME: %v", err)
	}
}

func TestDefaultConfig(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("its directory can be set on Linux only")
	}
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	if err := os.Mkdir(filepath.Join(home, "chrome-mcp"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "chrome-mcp", "config.json")
	// A file of that name in the working directory has no effect.
	t.Chdir(filepath.Dir(writeConfig(t, `{"profile": "directory"}`)))
	for _, c := range []struct{ text, config, profile string }{
		{"", "", "default"},
		{`{"profile": "mine"}`, "", "mine"},
		{`{"profile": "mine"}`, "none", "default"},
	} {
		if c.text != "" {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var args []string
		if c.config != "" {
			args = []string{"--config", c.config}
		}
		if s, err := Parse(args, nil); err != nil || s.Profile != c.profile {
			t.Errorf("file %s, --config %q: profile %q, %v", c.text, c.config, s.Profile, err)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", "{\n  \"profile\": \"x\"\n  \"headless\": true\n}", `:3:3: invalid character '"' after object value`},
		{"unfinished", `{"profile": `, ":1:13: "},
		{"empty", "", ":1:1: "},
		{"list", "// A list.\n []", ":2:2 is not a JSON object"},
		{"unknown setting", "{\n\t\"alow-domain\": []\n}", `:2:2: unknown setting "alow-domain"` + "\nDid you mean allow-domain?"},
		{"setting with dashes", `{"--headless": true}`, `:1:2: unknown setting "--headless"`},
		{"setting of a command", `{"session": "work"}`, `:1:2: unknown setting "session"`},
		{"another file", `{"config": "other.json"}`, `:1:2: unknown setting "config"`},
		{"duplicate", "{\"headless\": true,\n\"headless\": false}", `:2:1: duplicate setting "headless"`},
		{"string for a boolean", `{"headless": "true"}`, ":1:14: headless must be true or false"},
		{"null", `{"headless": null}`, ":1:14: headless must be true or false"},
		{"string for a list", `{"allow-domain": "example.com"}`, ":1:18: allow-domain must be a list of strings"},
		{"number in a list", `{"allow-domain": [1]}`, ":1:18: allow-domain must be a list of strings"},
		{"number for a string", `{"profile": 1}`, ":1:13: profile must be a string"},
		{"string for a number", `{"max-tabs": "7"}`, ":1:14: max-tabs must be a number"},
		{"part of a number", `{"max-tabs": 1.5}`, `:1:14: max-tabs: "1.5" is not a number from 1 to 1000000`},
		{"bad size", `{"max-download": "lots"}`, `:1:18: max-download: "lots" is not a size`},
		{"bad word", `{"prefer": "firefox"}`, `:1:12: prefer: "firefox" is not extension or cdp`},
		{"unknown toolset", `{"tools": ["cores"]}`, `:1:11: tools: unknown toolset`},
		{"empty value", `{"policy": ""}`, ":1:12: policy is empty"},
		{"no secrets", `{"secrets": []}`, ":1:13: secrets is empty; set a value or remove it"},
		{"no toolsets", `{"tools": []}`, ":1:11: tools is empty; set a value or remove it"},
		{"bad profile", `{"profile": "../x"}`, `:1:2: invalid name "../x"`},
		{"list of browsers", `{"browsers": []}`, ":1:14: browsers must be an object that maps names to browsers"},
		{"duplicate browsers", "{\"browsers\": {},\n\"browsers\": {}}", `:2:1: duplicate setting "browsers"`},
		{"name of a browser", `{"browsers": {"My Work": {"type": "managed"}}}`, `:1:15: browsers: "My Work" is not a name of up to 16`},
		{"reserved name", `{"browsers": {"extension": {"type": "extension"}}}`, `:1:15: browsers: the name "extension" is reserved`},
		{"name of a backend", `{"browsers": {"cdp": {"type": "managed"}}}`, `:1:15: browsers: the name "cdp" is reserved`},
		{"duplicate name", "{\"browsers\": {\"a\": {\"type\": \"managed\"},\n\"a\": {\"type\": \"managed\"}}}", `:2:1: duplicate browser "a"`},
		{"string for a browser", `{"browsers": {"work": "managed"}}`, ":1:23: browser work must be an object"},
		{"no type", `{"browsers": {"work": {"profile": "x"}}}`, ":1:23: browser work has no type; set it to managed, extension, endpoint or browserless"},
		{"unknown type", `{"browsers": {"work": {"type": "firefox"}}}`, `:1:32: browser work: type "firefox" is not managed, extension, endpoint or browserless`},
		{"number for a type", `{"browsers": {"work": {"type": 1}}}`, ":1:32: browser work: type must be managed, extension, endpoint or browserless"},
		{"misspelled key", `{"browsers": {"work": {"type": "managed", "profil": "x"}}}`, `:1:43: browser work: unknown key "profil"; did you mean profile?`},
		{"key of another type", "{\"browsers\": {\"own\": {\"type\": \"extension\",\n  \"url\": \"auto\"}}}", `:2:3: browser own: unknown key "url"; the keys of type extension are type and color`},
		{"duplicate key", `{"browsers": {"work": {"type": "managed", "type": "extension"}}}`, `:1:43: browser work: duplicate key "type"`},
		{"number for a key", `{"browsers": {"work": {"type": "managed", "profile": 1}}}`, ":1:54: browser work: profile must be a string"},
		{"string for a list", `{"browsers": {"a": {"type": "browserless", "urls": "ws://a"}}}`, ":1:52: browser a: urls must be a list of non-empty strings"},
		{"empty string in a list", `{"browsers": {"a": {"type": "browserless", "urls": [""]}}}`, ":1:52: browser a: urls must be a list of non-empty strings"},
		{"list for an object", `{"browsers": {"a": {"type": "browserless", "urls": ["ws://a"], "launch": []}}}`, ":1:74: browser a: launch must be an object"},
		{"empty list", `{"browsers": {"a": {"type": "browserless", "urls": []}}}`, ":1:20: browser a: urls is missing"},
		{"argument that selects a proxy", `{"browsers": {"a": {"type": "browserless", "urls": ["ws://a"], "launch": {"args": ["--proxy-server=b"]}}}}`, "browser argument --proxy-server affects the network"},
		{"empty key", `{"browsers": {"work": {"type": "managed", "profile": ""}}}`, ":1:54: browser work: profile is empty"},
		{"string for a boolean key", `{"browsers": {"far": {"type": "endpoint", "url": "http://x", "attach-default-context": "yes"}}}`, ":1:88: browser far: attach-default-context must be true or false"},
		{"bad profile of a browser", `{"browsers": {"work": {"type": "managed", "profile": "../x"}}}`, `:1:23: browser work: profile: invalid name "../x"`},
		{"bad color", `{"browsers": {"work": {"type": "managed", "color": "red"}}}`, `:1:23: browser work: color: "red" is not a color such as #1a73e8`},
		{"no URL", `{"browsers": {"far": {"type": "endpoint"}}}`, `:1:22: browser far: url is missing`},
		{"bad URL", `{"browsers": {"far": {"type": "endpoint", "url": "ftp://x"}}}`, `:1:22: browser far: url: unsupported scheme "ftp"`},
		{"two sources of headers", `{"browsers": {"far": {"type": "endpoint", "url": "http://x", "headers-file": "h", "headers-env": "H"}}}`, ":1:22: browser far: headers-file and headers-env are mutually exclusive"},
		{"one profile in two browsers", `{"browsers": {"a": {"type": "managed", "profile": "x"}, "b": {"type": "managed", "profile": "x"}}}`, ":1:57 has the profile x, as browser a does"},
		{"two of the user's Chrome", `{"browsers": {"a": {"type": "extension"}, "b": {"type": "extension"}}}`, ":1:43 has the type extension, as browser a does"},
		{"extension by default and by name", `{"prefer": "extension", "browsers": {"own": {"type": "extension"}}}`, "browser own at "},
		{"extension by name only", `{"no-cdp-fallback": true, "browsers": {"own": {"type": "extension"}}}`, " and no-cdp-fallback at "},
		{"excluding settings", "{\"isolated\": true,\n\"profile\": \"x\"}", ":2:1 are mutually exclusive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeConfig(t, c.text)
			_, err := Parse([]string{"--config", path}, nil)
			usage, ok := errors.AsType[*UsageError](err)
			if !ok {
				t.Fatalf("error %v, want a usage error", err)
			}
			if text := usage.Error() + "\n" + usage.Hint; !strings.Contains(text, c.want) || !strings.Contains(text, path) {
				t.Errorf("error %s, want %s", text, c.want)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "missing.json")
	if _, err := Parse([]string{"--config", missing}, nil); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Parse([]string{"--config", writeConfig(t, `{"profile": "`+strings.Repeat("x", configfile.MaxBytes)+`"}`)}, nil); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("large file: %v", err)
	}
	if runtime.GOOS != "windows" {
		wide := writeConfig(t, `{}`)
		if err := os.Chmod(wide, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse([]string{"--config", wide}, nil); err == nil || !strings.Contains(err.Error(), wide) {
			t.Errorf("file that others can change: %v", err)
		}
	}
}

// TestConfigSchema checks that the schema agrees with the program.
func TestConfigSchema(t *testing.T) {
	_, groups := define()
	text, err := json.Marshal(configSchema(groups))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		valid bool
	}{
		{`{"allow-domain": ["example.com"], "headless": true, "max-tabs": 7, "tools": ["core", "files"], "prefer": "cdp", "port": 0, "secrets": ["shop"], "viewport": "800x600"}`, true},
		{`{"browsers": {"work": {"type": "managed", "profile": "w", "color": "#1a73e8"}, "test": {"type": "managed"}, "own": {"type": "extension"}, "far": {"type": "endpoint", "url": "http://127.0.0.1:9222", "attach-default-context": true}, "mine": {"type": "endpoint", "url": "auto", "headers-env": "H"}}}`, true},
		{`{"browsers": {"Work": {"type": "managed"}}}`, false},
		{`{"browsers": {"work": {}}}`, false},
		{`{"browsers": {"work": {"type": "extension", "profile": "w"}}}`, false},
		{`{"browsers": {"far": {"type": "endpoint"}}}`, false},
		{`{"allow-domain": "example.com"}`, false},
		{`{"headless": "true"}`, false},
		{`{"prefer": "firefox"}`, false},
		{`{"tools": ["cores"]}`, false},
		{`{"tools": []}`, false},
		{`{"secrets": []}`, false},
		{`{"allow-domain": []}`, true},
		{`{"session": "work"}`, false},
	} {
		var value any
		if err := json.Unmarshal([]byte(c.text), &value); err != nil {
			t.Fatal(err)
		}
		valid := resolved.Validate(value) == nil
		_, err := Parse([]string{"--config", writeConfig(t, c.text)}, nil)
		if valid != c.valid || (err == nil) != c.valid {
			t.Errorf("%s: valid in the schema: %v; in the program: %v", c.text, valid, err)
		}
	}
}
