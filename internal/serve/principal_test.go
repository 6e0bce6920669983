package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// TestPrincipalBrowsers checks which named browsers a token gives access to.
func TestPrincipalBrowsers(t *testing.T) {
	s, err := cli.Parse([]string{"--config", writeConfig(t, namedBrowsersConfig), "--data", t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		browsers []string
		want     string
	}{
		{nil, "[]"},
		{[]string{"managed"}, "[]"},
		{[]string{"managed", "work"}, "[work]"},
		{[]string{"own", "managed", "test"}, "[own test]"},
	} {
		values, err := principalSettings(s, nil, tt.browsers)
		if err != nil {
			t.Errorf("%q: %v", tt.browsers, err)
			continue
		}
		session, err := cli.SessionSettings("a", s.Data, values)
		if err != nil {
			t.Errorf("%q: %v", tt.browsers, err)
			continue
		}
		names := []string{}
		for _, b := range session.Browsers {
			names = append(names, b.Name)
		}
		if got := fmt.Sprint(names); got != tt.want || session.Prefer != "cdp" {
			t.Errorf("%q: browsers %s, default %s; want %s", tt.browsers, got, session.Prefer, tt.want)
		}
	}
	_, err = principalSettings(s, nil, []string{"managed", "home"})
	wantUsage(t, err, "extension, endpoint, work, test, own, far and fleet")
	_, err = principalSettings(s, nil, []string{"work"})
	wantUsage(t, err, "the browsers of the token do not include a default browser")
	_, err = principalSettings(s, server.Settings{"profile": {"work"}}, []string{"profile", "work"})
	wantUsage(t, err, "which is that of the default browser")
	_, err = principalSettings(s, server.Settings{"browsers": {"[]"}}, nil)
	wantUsage(t, err, `"browsers" is not a setting of a session`)
}

// TestPrincipalSettings checks which browsers the settings of a token select.
func TestPrincipalSettings(t *testing.T) {
	s := &cli.Settings{Data: t.TempDir(), Proxy: "http://proxy.example:3128"}
	for _, tt := range []struct {
		given    server.Settings
		browsers []string
		want     string
	}{
		{nil, nil, "map[--ask:[never] --isolated:[true] --prefer:[cdp] --proxy:[http://proxy.example:3128] --secrets:[none]]"},
		{server.Settings{"proxy": {"none"}, "isolated": {"true"}}, []string{"managed"}, "map[--ask:[never] --isolated:[true] --prefer:[cdp] --secrets:[none]]"},
		{server.Settings{"proxy": {"none"}, "profile": {"work"}}, []string{"profile"}, "map[--ask:[never] --prefer:[cdp] --profile:[work] --secrets:[none]]"},
		{server.Settings{"proxy": {"none"}}, []string{"extension"}, "map[--ask:[never] --isolated:[true] --no-cdp-fallback:[true] --secrets:[none]]"},
		{server.Settings{"proxy": {"none"}}, []string{"extension", "managed"}, "map[--ask:[never] --isolated:[true] --secrets:[none]]"},
		{server.Settings{"proxy": {"none"}, "ask": {"auto"}}, nil, "map[--ask:[auto] --isolated:[true] --prefer:[cdp] --secrets:[none]]"},
		{server.Settings{"proxy": {"none"}, "cdp-endpoint": {"http://127.0.0.1:9222"}}, []string{"endpoint"}, "map[--ask:[never] --cdp-endpoint:[http://127.0.0.1:9222] --prefer:[cdp] --secrets:[none]]"},
	} {
		got, err := principalSettings(s, tt.given, tt.browsers)
		if err != nil || fmt.Sprint(got) != tt.want {
			t.Errorf("%v of %q: %v, %v; want %s", tt.given, tt.browsers, got, err, tt.want)
		}
	}
}

// TestPrincipalSecrets checks that a token has no secrets unless its settings name them.
func TestPrincipalSecrets(t *testing.T) {
	for _, given := range []server.Settings{{}, {"secrets": {"shop,bank"}}, {"secrets": {"all"}}} {
		s, err := cli.Parse(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		values, err := principalSettings(s, given, nil)
		if err != nil {
			t.Fatal(err)
		}
		session, _, err := cli.ParseSettings(values)
		if err != nil {
			t.Fatal(err)
		}
		want := "none"
		if given["secrets"] != nil {
			want = map[string]string{"shop,bank": "bank,shop", "all": "all"}[given["secrets"][0]]
		}
		if got := session.Secrets.String(); got != want || session.Secrets.None != (want == "none") {
			t.Errorf("%v: secrets %s, want %s", given, got, want)
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

// wantUsage checks that err is a *cli.UsageError with a text.
func wantUsage(t *testing.T, err error, text string) {
	t.Helper()
	usage, ok := errors.AsType[*cli.UsageError](err)
	if !ok || !strings.Contains(usage.Error()+"\n"+usage.Hint, text) {
		t.Errorf("error %v, want %s", err, text)
	}
}

// namedBrowsersConfig names a browser of each type.
const namedBrowsersConfig = `{"browsers": {
	"work": {"type": "managed", "profile": "work", "color": "#1a73e8"},
	"test": {"type": "managed"}, // with a temporary profile
	"own": {"type": "extension"},
	"far": {"type": "endpoint", "url": "http://127.0.0.1:9222"},
	"fleet": {"type": "browserless", "urls": ["ws://a/chromium", /* second */ "ws://b/chromium",], "token-env": "FLEET", "launch": {"args": ["--lang=de"]}},
}}`
