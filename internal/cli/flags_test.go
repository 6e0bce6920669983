package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// testProgram returns a program with a command, which appends its name to ran.
func testProgram(ran *[]string) Program {
	return Program{
		Commands: func(s *Settings) []*cobra.Command {
			doctor := s.Command("doctor", "check the installation", func(context.Context, *Settings, io.Writer) error {
				*ran = append(*ran, "doctor")
				return nil
			})
			doctor.Flags().Bool("launch", false, "start the browser")
			return []*cobra.Command{doctor}
		},
		Run: func(*cobra.Command, *Settings) error { return nil },
	}
}

func TestParse(t *testing.T) {
	var ran []string
	root, s := newRoot([]string{
		"--allow-domain", "example.com", "--allow-domain=*.example.com", "--headless=false",
		"--viewport", "800x600", "--max-download", "20MB", "--log-level", "debug", "doctor",
	}, []string{"HOME=/nowhere", "CHROME_MCP_DATA=/data", "CHROME_MCP_ENABLE_MUTATIONS=true"}, testProgram(&ran))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"example.com", "*.example.com"}; !slices.Equal(s.AllowDomain, want) {
		t.Errorf("allowDomain = %q, want %q", s.AllowDomain, want)
	}
	if s.Headless || !s.Given("headless") {
		t.Errorf("headless = %v, given %v; want false, given", s.Headless, s.Given("headless"))
	}
	if (s.Viewport != viewport{800, 600}) || s.MaxDownload != 20<<20 || s.LogLevel.Level() != slog.LevelDebug {
		t.Errorf("viewport %v, maxDownload %v, logLevel %v", s.Viewport, s.MaxDownload, s.LogLevel.Level())
	}
	if s.Data != "/data" || !s.Mutations {
		t.Errorf("from the environment: data %q, mutations %v", s.Data, s.Mutations)
	}
	if !slices.Equal(ran, []string{"doctor"}) {
		t.Errorf("commands %q ran", ran)
	}
}

func TestDefaultsGrantNothing(t *testing.T) {
	s, err := Parse(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.AllowDomain) > 0 || len(s.AllowPrivate) > 0 || s.Mutations || s.Downloads || s.Eval || s.AllDomains || s.NoSandbox {
		t.Errorf("defaults grant something: %+v", s)
	}
	if s.LogLevel.Level() != slog.LevelWarn || s.MaxDownload != 100<<20 || s.Viewport.String() != "1280x720" {
		t.Errorf("log level %v, max download %d, viewport %v", s.LogLevel.Level(), s.MaxDownload, &s.Viewport)
	}
}

func TestFlagBeatsEnvironment(t *testing.T) {
	s, err := Parse([]string{"--allow-domain", "flag.example", "--profile", "work", "--headless=false"}, []string{
		"CHROME_MCP_ALLOW_DOMAIN=env.example", "CHROME_MCP_PROFILE=play", "CHROME_MCP_HEADLESS=true",
		"CHROME_MCP_BLOCK_DOMAIN=a.example, b.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.AllowDomain, []string{"flag.example"}) || s.Profile != "work" || s.Headless {
		t.Errorf("allowDomain %q, profile %q, headless %v", s.AllowDomain, s.Profile, s.Headless)
	}
	if want := []string{"a.example", "b.example"}; !slices.Equal(s.BlockDomain, want) {
		t.Errorf("blockDomain = %q, want %q", s.BlockDomain, want)
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
		s, err := Parse(c.args, c.environ)
		if err != nil || s.Proxy != c.proxy || s.NoProxy != c.without {
			t.Errorf("%s: %q without %q, %v; want %q without %q", c.name, s.Proxy, s.NoProxy, err, c.proxy, c.without)
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
			before, err := Parse(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			after, err := Parse(nil, []string{envName(name) + "=" + value})
			if err != nil {
				t.Errorf("%s: %v", envName(name), err)
				continue
			}
			before.Given, after.Given = nil, nil
			before.sources, after.sources = nil, nil
			if reflect.DeepEqual(before, after) {
				t.Errorf("%s=%s has no effect", envName(name), value)
			}
		}
	}
	s, err := Parse(nil, []string{"CHROME_MCP_USERDATA=/profile"})
	if err != nil || s.Data != "/profile" {
		t.Errorf("CHROME_MCP_USERDATA: %q, %v", s.Data, err)
	}
	s, err = Parse(nil, []string{"CHROME_MCP_USERDATA=/old", "CHROME_MCP_DATA=/new"})
	if err != nil || s.Data != "/new" {
		t.Errorf("CHROME_MCP_USERDATA and CHROME_MCP_DATA: %q, %v", s.Data, err)
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
			_, err := Parse(strings.Fields(tt.args), environ)
			usage, ok := errors.AsType[*UsageError](err)
			if !ok {
				t.Fatalf("parse: %v, want a usage error", err)
			}
			for _, want := range tt.want {
				if text := usage.Error() + "\n" + usage.Hint; !strings.Contains(text, want) {
					t.Errorf("got %q, want it to contain %q", text, want)
				}
			}
		})
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
		if err := v.Set(s); err == nil && (v.Width < 100 || v.Height < 100) {
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

// TestFlagsOfServing checks that the flags of serving are of all commands.
func TestFlagsOfServing(t *testing.T) {
	root := NewRoot(nil, nil, testProgram(nil))
	if err := misplaced(root, "headless"); err != nil {
		t.Error(err)
	}
	if err := misplaced(root, "launch"); err == nil || err.Error() != "--launch requires doctor" {
		t.Error(err)
	}
}
