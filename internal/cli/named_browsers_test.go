package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/namedbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// namedBrowsersConfig names a browser of each type.
const namedBrowsersConfig = `{"browsers": {
	"work": {"type": "managed", "profile": "work", "color": "#1a73e8"},
	"test": {"type": "managed"}, // with a temporary profile
	"own": {"type": "extension"},
	"far": {"type": "endpoint", "url": "http://127.0.0.1:9222"},
	"fleet": {"type": "browserless", "urls": ["ws://a/chromium", /* second */ "ws://b/chromium",], "token-env": "FLEET", "launch": {"args": ["--lang=de"]}},
}}`

func TestNamedBrowsers(t *testing.T) {
	s, err := Parse([]string{"--config", writeConfig(t, namedBrowsersConfig)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Browsers {
		s.Browsers[i].Source = ""
	}
	want := "[{work managed #1a73e8 work  false   []   map[] } {test managed    false   []   map[] } {own extension    false   []   map[] }" +
		" {far endpoint   http://127.0.0.1:9222 false   []   map[] }" +
		" {fleet browserless    false   [ws://a/chromium ws://b/chromium]  FLEET map[args:[--lang=de]] }]"
	if got := fmt.Sprint(s.Browsers); got != want {
		t.Errorf("browsers %s\nwant %s", got, want)
	}
	if s.Prefer != "cdp" {
		t.Errorf("the default browser prefers %s: the user's Chrome has two names", s.Prefer)
	}

	values := server.Settings{}
	s.addBrowsers(values)
	session, err := SessionSettings("a", t.TempDir(), values)
	if err != nil || fmt.Sprint(session.Browsers) != want || session.Prefer != "cdp" {
		t.Errorf("session of the server: %v, %v", session, err)
	}
	if s, err = Parse([]string{"--config", writeConfig(t, namedBrowsersConfig), "--profile", "work"}, nil); err != nil {
		t.Fatal(err)
	}
	wantUsage(t, s.CheckDefaultProfile(), "has the profile work, which is that of the default browser")
}

// wantUsage checks that err is a *UsageError with a text.
func wantUsage(t *testing.T, err error, text string) {
	t.Helper()
	usage, ok := errors.AsType[*UsageError](err)
	if !ok || !strings.Contains(usage.Error()+"\n"+usage.Hint, text) {
		t.Errorf("error %v, want %s", err, text)
	}
}

// TestBrowsersOfSession checks the browsers that a client sends to the server.
func TestBrowsersOfSession(t *testing.T) {
	for value, want := range map[string]string{
		`[{"name":"a","type":"managed","profil":"x"}]`: `unknown field "profil"`,
		`{}`:                                  "is not a JSON list of browsers",
		`[{"name":"A","type":"managed"}]`:     "is not a name of up to 16",
		`[{"name":"a","type":"firefox"}]`:     `"firefox" is not managed`,
		`[{"name":"a","type":"browserless"}]`: "urls is missing",
		`[{"name":"a","type":"browserless","urls":["ws://a/?token=b"]}]`:                            "contains credentials",
		`[{"name":"a","type":"managed","profile":"../x"}]`:                                          `invalid name "../x"`,
		`[{"name":"a","type":"managed","profile":"default"}]`:                                       "which is that of the default browser",
		`[{"name":"a","type":"managed","profile":"x"},{"name":"b","type":"managed","profile":"x"}]`: "as browser a does",
	} {
		_, err := SessionSettings(server.DefaultSession, t.TempDir(), server.Settings{namedbrowser.Setting: {value}})
		wantUsage(t, err, want)
	}
}
