package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/attach"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

func TestUserDataDirectories(t *testing.T) {
	environment := map[string]string{"LOCALAPPDATA": `C:\Local`}
	getenv := func(name string) string { return environment[name] }
	for _, c := range []struct{ goos, home, config, want string }{
		{"linux", "/home/ann", "", "/home/ann/.config/google-chrome /home/ann/.config/microsoft-edge /home/ann/.config/BraveSoftware/Brave-Browser /home/ann/.config/chromium"},
		{"linux", "/home/ann", "/etc/ann", "/etc/ann/google-chrome /etc/ann/microsoft-edge /etc/ann/BraveSoftware/Brave-Browser /etc/ann/chromium"},
		{"darwin", "/Users/ann", "", "/Users/ann/Library/Application Support/Google/Chrome /Users/ann/Library/Application Support/Microsoft Edge " +
			"/Users/ann/Library/Application Support/BraveSoftware/Brave-Browser /Users/ann/Library/Application Support/Chromium"},
		{"windows", "", "", `C:/Local/Google/Chrome/User Data C:/Local/Microsoft/Edge/User Data C:/Local/BraveSoftware/Brave-Browser/User Data C:/Local/Chromium/User Data`},
	} {
		environment["XDG_CONFIG_HOME"] = c.config
		var got []string
		for _, b := range runningBrowsers {
			got = append(got, strings.ReplaceAll(b.userData(c.goos, c.home, getenv), `\`, "/"))
		}
		if all := strings.Join(got, " "); all != c.want && runtime.GOOS != "windows" {
			t.Errorf("%s: %s\nwant %s", c.goos, all, c.want)
		}
	}
}

// publish writes the DevToolsActivePort file of a browser of the user with a directory of
// configurations.
func publish(t *testing.T, config, browser, text string) {
	t.Helper()
	dir := filepath.Join(config, browser)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, activePortName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	hold(t, dir, os.Getpid())
}

// hold writes Chromium's lock of a user data directory.
func hold(t *testing.T, dir string, pid int) {
	t.Helper()
	lock := filepath.Join(dir, "SingletonLock")
	_ = os.Remove(lock)
	if err := os.Symlink(fmt.Sprint("host-", pid), lock); err != nil {
		t.Fatal(err)
	}
}

func TestFindRunning(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the user data directory can be set on Linux only")
	}
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	listener := httptest.NewServer(http.NotFoundHandler())
	defer listener.Close()
	_, port, _ := strings.Cut(listener.Listener.Addr().String(), ":")
	publish(t, config, "google-chrome", "1\n/devtools/browser/killed")
	publish(t, config, "microsoft-edge", "hello")
	publish(t, config, "chromium", port+"\n/devtools/browser/running\n")
	for name, want := range map[string]string{
		"auto":     "ws://127.0.0.1:" + port + "/devtools/browser/running",
		"chromium": "ws://127.0.0.1:" + port + "/devtools/browser/running",
		"chrome":   "no running Chrome with remote debugging was found: the browser of ",
		"edge":     "no running Edge with remote debugging was found: ",
		"brave":    "no running Brave with remote debugging was found",
	} {
		u, err := FindRunning(name)
		got := fmt.Sprint(u)
		if err != nil {
			got = err.Error()
			if executor.CodeOf(err) != executor.ErrNoBackend {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	hold(t, filepath.Join(config, "chromium"), 1<<30) // another program listens on the port of a browser that has exited
	if _, err := FindRunning("chromium"); err == nil || !strings.Contains(err.Error(), "has exited") {
		t.Errorf("the browser has exited: %v", err)
	}
	for _, text := range []string{"", "0\n/devtools/browser/x", port + "\n/json", port, "99999\n/devtools/browser/x", strings.Repeat("1", maxActivePort+1)} {
		publish(t, config, "chromium", text)
		if _, err := FindRunning("chromium"); err == nil || !strings.Contains(err.Error(), "is not a file of a browser") {
			t.Errorf("file %.20q: %v", text, err)
		}
	}
}

// TestDialRunningChromium attaches to a running browser of the user without its address.
func TestDialRunningChromium(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the user data directory can be set on Linux only")
	}
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	_, ws := startForeign(t, filepath.Join(config, "chromium"))
	// Chromium prints its address before it creates the file, and the file is empty at first.
	await.Until(t, "the file with its address", func() bool {
		text, err := os.ReadFile(filepath.Join(config, "chromium", activePortName))
		return err == nil && len(text) > 0
	})
	for _, name := range []string{"auto", "chromium"} {
		at, err := (&Options{CDPEndpoint: name}).endpoint()
		if err != nil {
			t.Fatal(err)
		}
		tr, e, err := attach.Dial(t.Context(), at)
		if err != nil {
			t.Fatalf("dial %s: %v", name, err)
		}
		tr.Close()
		if e.URL != ws {
			t.Errorf("dial %s: attached to %s, want %s", name, e.URL, ws)
		}
	}
	b := mustNew(t, Options{CDPEndpoint: "chromium", Network: documents{hosts{"127.0.0.1"}}, DataDir: t.TempDir()})
	defer b.Close()
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.NewPage(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if st := b.Status(t.Context()); !strings.HasPrefix(st.Detail, "attached to Chrome/") || strings.Contains(st.Detail, "not filtered") {
		t.Errorf("status %+v", st)
	}
}
