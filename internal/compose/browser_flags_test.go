package compose

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
)

func TestBrowserArgs(t *testing.T) {
	want := []string{"--accept-lang=de,en-US", "--disable-gpu", "--force-device-scale-factor=1.5", "--window-position=-10,20"}
	flags := []string{}
	for _, arg := range want {
		flags = append(flags, "--browser-arg", arg)
	}
	path := writeConfig(t, `{"browser-arg": ["--accept-lang=de,en-US", "--disable-gpu", "--force-device-scale-factor=1.5", "--window-position=-10,20"]}`)
	for name, parsed := range map[string]struct{ args, environ []string }{
		"flags":    {flags, nil},
		"variable": {nil, []string{"CHROME_MCP_BROWSER_ARG=" + strings.Join(want, " ")}},
		"file":     {[]string{"--config", path}, nil},
		"override": {flags, []string{"CHROME_MCP_BROWSER_ARG=--mute-audio"}},
	} {
		s, err := cli.Parse(parsed.args, parsed.environ)
		if err != nil || !slices.Equal(s.BrowserArgs, want) {
			t.Errorf("%s: %v %v", name, s, err)
			continue
		}
		options, err := newSetup(s, secrets.Open(t.TempDir())).chromium(nil, nil)
		if err != nil || !slices.Equal(options.ExtraArgs, want) {
			t.Errorf("%s: the browser gets %q, %v", name, options.ExtraArgs, err)
		}
	}
}

func TestAcceptCertificateFlag(t *testing.T) {
	want := []string{"staging.example:443", "127.0.0.1:8443", "[::1]:8443", "box:443"}
	config := writeConfig(t, `{"accept-certificate": ["staging.example", "127.0.0.1:8443", "[::1]:8443", "box:443", "box"]}`)
	for _, c := range []struct{ args, environ []string }{
		{[]string{"--accept-certificate", "staging.example", "--accept-certificate=127.0.0.1:8443", "--accept-certificate", "[::1]:8443", "--accept-certificate=box"}, nil},
		{nil, []string{"CHROME_MCP_ACCEPT_CERTIFICATE=staging.example, 127.0.0.1:8443, [::1]:8443, box"}},
		{[]string{"--config", config}, nil},
	} {
		s, err := cli.Parse(append(c.args, "--isolated"), c.environ)
		if err != nil {
			t.Errorf("%q %q: %v", c.args, c.environ, err)
			continue
		}
		setup := newSetup(s, secrets.Open(t.TempDir()))
		setup.pool = &chromium.Pool{}
		o, err := setup.chromium(nil, nil)
		if err != nil || !slices.Equal(o.AcceptCertificates, want) || o.Pool != nil {
			t.Errorf("%q %q: servers %q, pool %v, %v", c.args, c.environ, o.AcceptCertificates, o.Pool, err)
		}
	}
}

func TestHTTPCredentialsFile(t *testing.T) {
	path := writeConfig(t, `{
		// Comments are allowed.
		"https://staging.example": {"username": "ada", "password": "a\"b:c"},
		"http://localhost:3000": {"username": "token", "password": ""},
	}`)
	config := filepath.Join(filepath.Dir(path), "other.json")
	if err := os.WriteFile(config, []byte(`{"http-credentials": "config.json", "profile": "work"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]chromium.HTTPCredentials{
		"https://staging.example": {Username: "ada", Password: `a"b:c`}, "http://localhost:3000": {Username: "token"},
	}
	for _, args := range [][]string{{"--http-credentials", path}, {"--config", config}, {"--config", config, "--isolated"}} {
		s, err := cli.Parse(args, nil)
		if err != nil {
			t.Fatal(err)
		}
		setup := newSetup(s, secrets.Open(t.TempDir()))
		setup.pool = &chromium.Pool{}
		o, err := setup.chromium(nil, nil)
		if err != nil || !maps.Equal(o.HTTPCredentials, want) || o.Pool != nil {
			t.Errorf("%q: pool %v, credentials of %d origins, %v", args, o.Pool, len(o.HTTPCredentials), err)
		}
	}
}

// writeConfig writes a configuration file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
