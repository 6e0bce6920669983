package extension

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/executortest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/suites"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// nativeEnv is an environment variable that makes the test binary the native messaging host. Its
// value is the data directory of the server.
const nativeEnv = "EXTENSION_TEST_DATA"

// TestExtension runs the contract suite through the extension, in a Chromium that finds the server by
// native messaging.
func TestExtension(t *testing.T) { runReal(t, executortest.Topics) }

// TestLongExtension runs the topics whose subjects all backends share.
func TestLongExtension(t *testing.T) {
	t.Parallel() // with TestReconnectAfterIdle
	tier.Deep(t)
	runReal(t, suites.Shared)
}

func runReal(t *testing.T, topics []suite.Topic) {
	server, u := startReal(t)
	b := newBackend(t, server)
	waitConnected(t, b)
	h := harness(b, "extension")
	h.Raw = func(t *testing.T, url, method string, params any) {
		if strings.HasPrefix(method, "Browser.") { // a grant ends with the session that made it
			u.Call(t, "", method, params, nil)
			return
		}
		u.WithSession(t, u.Find(t, "page", url).ID, func(session string) { u.Call(t, session, method, params, nil) })
	}
	h.Zoom = func(t *testing.T, url string, factor float64) {
		u.worker(fmt.Sprintf("chrome.tabs.query({url: %q}).then(([tab]) => chrome.tabs.setZoom(tab.id, %v))", url+"*", factor), nil)
	}
	suite.Run(t, h, topics)
}

// maxExceptions is the maximum number of cases that the extension may skip.
const maxExceptions = 10

// TestExceptions checks that there are few exceptions, and that each names a case and has a reason.
func TestExceptions(t *testing.T) {
	if n := len(executortest.ExtensionExceptions); n > maxExceptions {
		t.Errorf("%d exceptions, want at most %d", n, maxExceptions)
	}
	cases := suites.Cases()
	for name, why := range executortest.ExtensionExceptions {
		if why == "" {
			t.Errorf("exception %s has no reason", name)
		}
		if !slices.ContainsFunc(cases, func(c suite.Info) bool { return c.Topic+"/"+c.Case == name }) {
			t.Errorf("exception %s names no case", name)
		}
	}
}

// startReal starts a server, and a Chromium with the extension, whose user allows scripts.
func startReal(t testing.TB) (*bridge.Server, *userBrowser) {
	t.Helper()
	return startRealUser(t, func(dir string) { agree(t, filepath.Join(dir, "consent.js")) })
}

// startRealUser starts a server, and a Chromium with the extension, which prepare changes.
func startRealUser(t testing.TB, prepare func(dir string)) (*bridge.Server, *userBrowser) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	server, err := bridge.New(&bridge.Options{
		DataDir: data, ExtensionID: extfiles.ID(), Port: bridge.AnyPort, Name: "test",
		Policy: func() bridge.Policy {
			return bridge.Policy{Allow: []string{"127.0.0.1", "localhost", "*.localhost", "http://nowhere.invalid"}, Subresources: "public"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })

	u := newUserBrowser(t, data, userBrowserOptions{prepare: func(dir string) {
		prepare(dir)
		allowDownloads(t, filepath.Join(filepath.Dir(dir), "profile"))
	}})
	return server, u
}

// allowDownloads sets in a new profile that sites may download several files. Otherwise Chrome
// prompts the user, in a bubble that no test can answer.
func allowDownloads(t testing.TB, profile string) {
	t.Helper()
	file := filepath.Join(profile, "Default", "Preferences")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"profile": {"default_content_setting_values": {"automatic_downloads": 1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

// agree changes a copy of the extension so that it consents to scripts on the sites of the suite,
// whose ports are not known in advance.
func agree(t testing.TB, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const before = "if (origin === '') return undefined;"
	text := strings.Replace(string(data), before, before+` if (/^http:\/\/(127\.0\.0\.1|([a-z0-9.]+\.)?localhost):\d+$/.test(origin)) return true;`, 1)
	if text == string(data) {
		t.Fatal("the extension checks consent by other code")
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
