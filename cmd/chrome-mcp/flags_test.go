package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// parse returns the settings of a command line, without running its command.
func parse(args, environ []string) (*settings, error) {
	s, _, err := parseCommand(args, environ)
	return s, err
}

// parseCommand also returns the command and its arguments.
func parseCommand(args, environ []string) (s *settings, command []string, err error) {
	root, s := newRoot(args, environ)
	for _, cmd := range append(root.Commands(), root) {
		cmd.RunE = func(cmd *cobra.Command, words []string) error {
			command = append(strings.Fields(cmd.CommandPath())[1:], words...)
			return nil
		}
	}
	return s, command, root.ExecuteContext(context.Background())
}

func TestParse(t *testing.T) {
	s, command, err := parseCommand([]string{
		"--allow-domain", "example.com", "--allow-domain=*.example.com", "--headless=false",
		"--viewport", "800x600", "--max-download", "20MB", "--log-level", "debug", "doctor",
	}, []string{"HOME=/nowhere", "CHROME_MCP_DATA=/data", "CHROME_MCP_ENABLE_MUTATIONS=true"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"example.com", "*.example.com"}; !slices.Equal(s.allowDomain, want) {
		t.Errorf("allowDomain = %q, want %q", s.allowDomain, want)
	}
	if s.headless || !s.given("headless") {
		t.Errorf("headless = %v, given %v; want false, given", s.headless, s.given("headless"))
	}
	if (s.viewport != viewport{800, 600}) || s.maxDownload != 20<<20 || s.logLevel.Level() != slog.LevelDebug {
		t.Errorf("viewport %v, maxDownload %v, logLevel %v", s.viewport, s.maxDownload, s.logLevel.Level())
	}
	if s.data != "/data" || !s.mutations {
		t.Errorf("from the environment: data %q, mutations %v", s.data, s.mutations)
	}
	if !slices.Equal(command, []string{"doctor"}) {
		t.Errorf("command = %q", command)
	}
}

func TestDefaultsGrantNothing(t *testing.T) {
	s, err := parse(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.allowDomain) > 0 || len(s.allowPrivate) > 0 || s.mutations || s.downloads || s.eval || s.allDomains || s.noSandbox {
		t.Errorf("defaults grant something: %+v", s)
	}
	if s.logLevel.Level() != slog.LevelWarn || s.maxDownload != 100<<20 || s.viewport.String() != "1280x720" {
		t.Errorf("log level %v, max download %d, viewport %v", s.logLevel.Level(), s.maxDownload, &s.viewport)
	}
}

func TestFlagBeatsEnvironment(t *testing.T) {
	s, err := parse([]string{"--allow-domain", "flag.example", "--profile", "work", "--headless=false"}, []string{
		"CHROME_MCP_ALLOW_DOMAIN=env.example", "CHROME_MCP_PROFILE=play", "CHROME_MCP_HEADLESS=true",
		"CHROME_MCP_BLOCK_DOMAIN=a.example, b.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.allowDomain, []string{"flag.example"}) || s.profile != "work" || s.headless {
		t.Errorf("allowDomain %q, profile %q, headless %v", s.allowDomain, s.profile, s.headless)
	}
	if want := []string{"a.example", "b.example"}; !slices.Equal(s.blockDomain, want) {
		t.Errorf("blockDomain = %q, want %q", s.blockDomain, want)
	}
}

func TestProxyFromEnvironment(t *testing.T) {
	environ := []string{"HTTPS_PROXY=http://secure.test:3128", "http_proxy=http://plain.test:3128", "NO_PROXY=near.test"}
	for _, c := range []struct {
		name           string
		args, environ  []string
		proxy, without string
	}{
		{"none", nil, nil, "", ""},
		{"the variables", nil, environ, "http://secure.test:3128", "near.test"},
		{"only one of them", nil, environ[1:2], "http://plain.test:3128", ""},
		{"the flag beats them", []string{"--proxy", "http://mine.test:1"}, environ, "http://mine.test:1", ""},
		{"CHROME_MCP_PROXY overrides them", nil, append(environ[:3:3], "CHROME_MCP_PROXY=http://mine.test:1"), "http://mine.test:1", ""},
		{"flag none", []string{"--proxy=none"}, environ, "", ""},
	} {
		s, err := parse(c.args, c.environ)
		if err != nil || s.proxy != c.proxy || s.noProxy != c.without {
			t.Errorf("%s: %q without %q, %v; want %q without %q", c.name, s.proxy, s.noProxy, err, c.proxy, c.without)
		}
	}
}

// TestPolicyDirectories checks that the upload and state directories must be directories.
func TestPolicyDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--uploads-dir", "--state-dir"} {
		for path, want := range map[string]string{dir: "", file: "is not a directory", filepath.Join(dir, "none"): "does not exist", filepath.Join(file, "below"): "not a directory"} {
			s, err := parse([]string{flag, path}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.policy()
			if usage, ok := errors.AsType[*usageError](err); want == "" && err != nil || want != "" && (!ok || !strings.Contains(usage.Error(), want)) {
				t.Errorf("%s %s: %v, want %q", flag, path, err, want)
			}
		}
	}
}

// TestEveryFlagHasAVariable sets each flag by its variable and checks the effect.
func TestEveryFlagHasAVariable(t *testing.T) {
	values := map[string]string{
		"bool": "true", "stringArray": "10.0.0.0/8", "string": "word", "WxH": "640x480", "LEVEL": "info", "PORT": "4711", "N": "7", "SIZE": "1MB", "duration": "30m",
		"subresources": "list", "prefer": "cdp", "after-action": "none", "ask": "never", "tools": "all",
		"cdp-endpoint": "http://127.0.0.1:9222", "attach-default-context": "",
		"cdp-listen": "127.0.0.1:0", "egress-address": "10.0.0.5:3129", "cdp-clients": "single", "browser-arg": "--mute-audio", "accept-certificate": "shop.example", "secrets": "none", "config": "none",
	}
	_, groups := define()
	for _, g := range groups {
		for _, name := range flagNames(g) {
			if name == "attach-default-context" {
				continue
			}
			value := values[name]
			if value == "" {
				value = values[g.flags.Lookup(name).Value.Type()]
			}
			before, err := parse(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			after, err := parse(nil, []string{envName(name) + "=" + value})
			if err != nil {
				t.Errorf("%s: %v", envName(name), err)
				continue
			}
			before.given, after.given = nil, nil
			before.sources, after.sources = nil, nil
			if reflect.DeepEqual(before, after) {
				t.Errorf("%s=%s has no effect", envName(name), value)
			}
		}
	}
	s, err := parse(nil, []string{"CHROME_MCP_USERDATA=/profile"})
	if err != nil || s.data != "/profile" {
		t.Errorf("CHROME_MCP_USERDATA: %q, %v", s.data, err)
	}
	s, err = parse(nil, []string{"CHROME_MCP_USERDATA=/old", "CHROME_MCP_DATA=/new"})
	if err != nil || s.data != "/new" {
		t.Errorf("CHROME_MCP_USERDATA and CHROME_MCP_DATA: %q, %v", s.data, err)
	}
}

func TestBadSettings(t *testing.T) {
	for _, tt := range []struct {
		name, args, env string
		want            []string
	}{
		{"unknown flag", "--alow-domain x", "", []string{"unknown flag --alow-domain", "Did you mean --allow-domain?"}},
		{"no value", "--policy", "", []string{"--policy needs a value"}},
		{"bad bool", "--headless=maybe", "", []string{`--headless: invalid boolean "maybe"`}},
		{"bad choice", "--prefer=firefox", "", []string{`--prefer: "firefox" is not extension or cdp`}},
		{"bad size", "--max-download=lots", "", []string{`--max-download: "lots" is not a size`}},
		{"huge size", "--max-download=99999999999GB", "", []string{"--max-download"}},
		{"size without a unit", "--max-download=10", "", []string{`"10" has no unit; write 10MB, or 10B for bytes`}},
		{"zero size", "--max-download=0", "", []string{"--max-download"}},
		{"bad viewport", "--viewport=1280", "", []string{`--viewport: "1280" is not a size such as 1280x720`}},
		{"bad level", "--log-level=loud", "", []string{`"loud" is not debug, info, warn or error`}},
		{"bad profile", "--profile=../x", "", []string{`--profile: invalid name "../x"`}},
		{"excluding", "--isolated --profile=x", "", []string{"--isolated and --profile are mutually exclusive"}},
		{"alone", "--attach-default-context", "", []string{"needs --cdp-endpoint"}},
		{"CDP address without a port", "--cdp-listen=127.0.0.1", "", []string{`--cdp-listen: "127.0.0.1" is not a host and port`}},
		{"egress address of all interfaces", "--egress-address=0.0.0.0:3129", "", []string{`--egress-address: egress address "0.0.0.0:3129" is not a host and port to connect to`}},
		{"bad CDP port", "--cdp-listen=127.0.0.1:x", "", []string{`--cdp-listen: "x" is not a port`}},
		{"CDP address of all interfaces", "--cdp-listen=:9222", "", []string{`--cdp-listen: "" is not a loopback address`}},
		{"CDP address of a network", "", "CHROME_MCP_CDP_LISTEN=192.0.2.1:0", []string{`CHROME_MCP_CDP_LISTEN: "192.0.2.1" is not a loopback address`}},
		{"CDP clients of another program's browser", "--cdp-listen=[::1]:0 --cdp-endpoint=http://127.0.0.1:1", "", []string{"--cdp-endpoint and --cdp-listen are mutually exclusive"}},
		{"bad variable", "", "CHROME_MCP_ENABLE_MUTATIONS=perhaps", []string{`CHROME_MCP_ENABLE_MUTATIONS: invalid boolean "perhaps"`}},
		{"empty variable", "", "CHROME_MCP_POLICY=", []string{"CHROME_MCP_POLICY is empty"}},
		{"variable without a list", "", "CHROME_MCP_ALLOW_DOMAIN=, ,", []string{"CHROME_MCP_ALLOW_DOMAIN is an empty list"}},
		{"variable's hint", "", "CHROME_MCP_VIEWPORT=big", []string{"It sets --viewport"}},
		{"variable of two", "--isolated", "CHROME_MCP_PROFILE=x", []string{"--isolated and environment variable CHROME_MCP_PROFILE are mutually exclusive"}},
		{"empty value", "--policy=", "", []string{"--policy is empty"}},
		{"shorthand", "-x", "", []string{"unknown flag -x"}},
		{"shorthand of several", "-headless", "", []string{"unknown flag -headless", "Did you mean --headless?"}},
		{"part of a name", "--downloads", "", []string{"Did you mean --enable-downloads?"}},
		{"more than a name", "--no-headless", "", []string{"Did you mean --headless?"}},
		{"misspelled variable", "", "CHROME_MCP_BLOCK_DOMAINS=x", []string{"unknown environment variable CHROME_MCP_BLOCK_DOMAINS", "Did you mean CHROME_MCP_BLOCK_DOMAIN?"}},
		{"flag without a variable", "", "CHROME_MCP_VERSION=1", []string{"unknown environment variable CHROME_MCP_VERSION"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var environ []string
			if tt.env != "" {
				environ = []string{tt.env}
			}
			_, err := parse(strings.Fields(tt.args), environ)
			usage, ok := errors.AsType[*usageError](err)
			if !ok {
				t.Fatalf("parse: %v, want a usage error", err)
			}
			for _, want := range tt.want {
				if text := usage.Error() + "\n" + usage.hint; !strings.Contains(text, want) {
					t.Errorf("got %q, want it to contain %q", text, want)
				}
			}
		})
	}
}

func TestHelpFitsAScreen(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(shortHelp, "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("the help has %d lines, more than 24", len(lines))
	}
	root, _ := newRoot(nil, nil)
	for i, line := range lines {
		if len(line) > 80 {
			t.Errorf("line %d has %d columns", i+1, len(line))
		}
		if flag, ok := strings.CutPrefix(strings.TrimSpace(line), "--"); ok {
			name, _, _ := strings.Cut(flag, " ")
			if root.Flag(name) == nil {
				t.Errorf("the help names the unknown flag --%s", name)
			}
		}
	}
}

func TestFlagListHasEveryFlag(t *testing.T) {
	var b strings.Builder
	root, _ := newRoot([]string{"help", "flags"}, nil)
	root.SetOut(&b)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range append(root.Commands(), root) {
		for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if !strings.Contains(b.String(), "--"+f.Name) {
					t.Errorf("help flags lacks --%s of %s", f.Name, cmd.CommandPath())
				}
				if f.Usage == "" {
					t.Errorf("--%s has no description", f.Name)
				}
			})
		}
	}
}

// TestCommandHelp checks that each command has help that fits a terminal.
func TestCommandHelp(t *testing.T) {
	root, _ := newRoot(nil, nil)
	for _, cmd := range root.Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		var b, said strings.Builder
		if code := run(t.Context(), []string{"help", cmd.Name()}, nil, &b, &said); code != 0 || said.Len() > 0 {
			t.Errorf("%s: exit code %d, stderr %s", cmd.Name(), code, &said)
		}
		if !strings.HasPrefix(b.String(), "chrome-mcp "+cmd.Name()) || cmd.Short == "" {
			t.Errorf("%s has no help:\n%s", cmd.Name(), &b)
		}
		for line := range strings.Lines(b.String()) {
			if len(line) > 91 {
				t.Errorf("%s: line of %d columns: %s", cmd.Name(), len(line)-1, line)
			}
		}
	}
}

func FuzzSizes(f *testing.F) {
	for _, seed := range []string{"20MB", "1GB", "1", "0", "-1KB", "1280x720", "x", "9223372036854775807GB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var size byteSize
		if err := size.Set(s); err == nil {
			if size <= 0 {
				t.Fatalf("%q became %d bytes", s, size)
			}
			var again byteSize
			if err := again.Set(size.String()); err != nil || again != size {
				t.Fatalf("%q: %d became %q, which is %d, %v", s, size, size.String(), again, err)
			}
		}
		var v viewport
		if err := v.Set(s); err == nil && (v.width < 100 || v.height < 100) {
			t.Fatalf("%q became %v", s, v)
		}
	})
}

func flagNames(g flagGroup) []string {
	var names []string
	g.flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]byteSize{"10MB": 10 << 20, "10MiB": 10 << 20, "1GiB": 1 << 30, "3kib": 3 << 10, "7B": 7} {
		var size byteSize
		if err := size.Set(text); err != nil || size != want {
			t.Errorf("%s: %d, %v; want %d", text, size, err, want)
		}
	}
}

// TestFlagsOfServing checks that the flags of serving are accepted without copying them to each other
// command: an MCP host starts many programs, and the copies are most of what a start allocates.
func TestFlagsOfServing(t *testing.T) {
	root, _ := newRoot([]string{"--headless"}, nil)
	if err := misplaced(root, "headless"); err != nil {
		t.Error(err)
	}
	for _, c := range root.Commands() {
		if c.Flags().Lookup("headless") != nil {
			t.Errorf("%s has a copy of the flags", c.Name())
		}
	}
}
