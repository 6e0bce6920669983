package chromium

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// testOptions returns options for a headless browser, that of [tier.Shell], with a data directory of
// the test.
func testOptions(t *testing.T) Options {
	t.Helper()
	o := fullOptions(t)
	o.Browser = tier.Shell()
	return o
}

// fullOptions is testOptions for a browser with a user interface, or an attached one.
func fullOptions(t *testing.T) Options {
	t.Helper()
	headless := true
	return Options{
		Browser:   tier.FullBrowser(),
		Headless:  &headless,
		NoSandbox: os.Getuid() == 0,
		DataDir:   t.TempDir(),
		timing:    timing.Current(),
	}
}

// findBrowser returns the path of a browser with a user interface. Without one it skips the test, except
// in CI.
func findBrowser(t *testing.T) string {
	t.Helper()
	return mustFind(t, tier.FullBrowser())
}

// mustFind is findBrowser for the browser of [tier.FullBrowser] or [tier.Shell].
func mustFind(t *testing.T, browser string) string {
	t.Helper()
	path, err := Find(browser)
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// launchBrowser launches a browser without a Backend.
func launchBrowser(ctx context.Context, o Options) (*launch.Process, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return o.launch(ctx)
}

// mustLaunch launches a browser that is closed at the end of the test.
func mustLaunch(t *testing.T, o Options) *launch.Process {
	t.Helper()
	p, err := launchBrowser(t.Context(), o)
	if errors.Is(err, executor.ErrNoBackend) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// startForeign starts a browser as a user would, not with launchBrowser, on the profile in dir. It returns
// its process id and the address of its debugging port.
func startForeign(t *testing.T, dir string, args ...string) (pid int, address string) {
	t.Helper()
	tier.Browser(t)
	pid, address, _ = runForeign(t, tier.FullBrowser(), dir, args...)
	return pid, address
}

// startForeignShell is startForeign for the browser of [tier.Shell].
func startForeignShell(t *testing.T, dir string, args ...string) (pid int, address string) {
	t.Helper()
	tier.Browser(t)
	pid, address, _ = runForeign(t, tier.Shell(), dir, args...)
	return pid, address
}

// runForeign is like startForeign, but also returns end, which closes the browser
// before the end of the test.
func runForeign(t *testing.T, browser, dir string, args ...string) (pid int, address string, end func()) {
	t.Helper()
	path := mustFind(t, browser)
	args = append([]string{"--headless=new", "--user-data-dir=" + dir, "--remote-debugging-port=0",
		"--no-first-run", "--disable-background-networking", tier.FastWindows, "about:blank"}, args...)
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(path, args...)
	setProcessGroup(cmd)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = terminateProcess(cmd.Process.Pid)
		_ = cmd.Wait()
		profiles.KillUsers(context.Background(), dir)
	})
	t.Cleanup(end)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, ws, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
			return cmd.Process.Pid, ws, end
		}
	}
	t.Fatal("the browser printed no debugging address")
	return 0, "", nil
}

func TestProfileOfForeignBrowser(t *testing.T) {
	o := fullOptions(t)
	dir := filepath.Join(o.DataDir, "profiles", "default")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	pid, _ := startForeign(t, dir)
	_, err := launchBrowser(t.Context(), o)
	if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", pid)) {
		t.Fatalf("launch on a profile in use: %v", err)
	}
	if _, err := Sweep(t.Context(), o.DataDir); err != nil {
		t.Error(err)
	}
	if !profiles.Uses(pid, dir) {
		t.Error("the foreign browser was terminated")
	}
}

// TestColor checks that a window with a color has a separate browser, and that invalid colors are
// rejected.
func TestColor(t *testing.T) {
	t.Setenv("DISPLAY", ":0")
	for _, headless := range []bool{true, false} {
		o, err := Options{Color: "#1A73e8", Headless: &headless, DataDir: "/data", Isolated: true, Network: hosts{}, Pool: new(Pool)}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if (o.Pool != nil) != headless {
			t.Errorf("headless %t: pool %v", headless, o.Pool)
		}
	}
	for _, color := range []string{"red", "#12345", "#1234567", "1a73e8"} {
		if _, err := New(&Options{Color: color}); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("color %q: %v", color, err)
		}
	}
}

// TestBadOptions checks that New rejects options that are invalid in every environment.
func TestBadOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"profile":             {Profile: "my profile"},
		"two profiles":        {Isolated: true, Profile: "work"},
		"viewport":            {Width: -1},
		"upstream proxy":      {Network: hosts{}, Proxy: "socks5://127.0.0.1:1080"},
		"no network":          {Proxy: "http://127.0.0.1:1080"},
		"proxy":               {ProxyServer: "127.0.0.1"},
		"argument":            {ExtraArgs: []string{"about:blank"}},
		"argument of ours":    {ExtraArgs: []string{"--user-data-dir=/tmp"}},
		"argument and policy": {Network: hosts{}, ExtraArgs: []string{"--no-proxy-server"}},
		"endpoint":            {CDPEndpoint: "file:///tmp"},
		"browserless":         {Browserless: new(Browserless)},
	} {
		if b, err := New(&o); executor.CodeOf(err) != executor.ErrBadArgs || b != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string]Options{
		"no options":       {},
		"argument":         {ExtraArgs: []string{"--no-proxy-server"}},
		"name of a chrome": {CDPEndpoint: "auto"},
		"endpoint":         {CDPEndpoint: "ws://127.0.0.1:1/devtools/browser/x", ExtraArgs: []string{"unused"}},
		"no such browser":  {Browser: "/nowhere"},
	} {
		if _, err := New(&o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
