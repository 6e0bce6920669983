package launch

import (
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// fakeMachine returns a machine with only these programs. Programs in /usr/bin are also on the
// PATH.
func fakeMachine(goos string, env map[string]string, programs ...string) *machine {
	return &machine{
		goos:   goos,
		getenv: func(k string) string { return env[k] },
		lookPath: func(p string) (string, error) {
			for _, full := range programs {
				if full == p || "/usr/bin/"+p == full {
					return full, nil
				}
			}
			return "", exec.ErrNotFound
		},
		stat: func(p string) (fs.FileInfo, error) {
			if !slices.Contains(programs, p) {
				return nil, fs.ErrNotExist
			}
			return fs.Stat(fstest.MapFS{"x": {Mode: 0o755}}, "x")
		},
		testing: func() string { return "" },
	}
}

func TestFindOnEverySystem(t *testing.T) {
	windows := map[string]string{
		"ProgramFiles": `C:\Program Files`, "ProgramW6432": `C:\Program Files`,
		"ProgramFiles(x86)": `C:\Program Files (x86)`, "LocalAppData": `C:\Users\ann\AppData\Local`,
	}
	const (
		macChrome = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
		macBrave  = "/Users/ann/Applications/Brave Browser.app/Contents/MacOS/Brave Browser"
		winEdge   = `C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe`
		winChrome = `C:\Users\ann\AppData\Local\Google\Chrome\Application\chrome.exe`
	)
	for _, c := range []struct {
		name     string
		goos     string
		env      map[string]string
		programs []string
		arg      string
		want     string
	}{
		{"only chromium", "linux", nil, []string{"/usr/bin/chromium"}, "", "/usr/bin/chromium"},
		{"chrome first", "linux", nil, []string{"/usr/bin/chromium", "/usr/bin/microsoft-edge-stable", "/usr/bin/brave-browser", "/usr/bin/google-chrome-stable"}, "", "/usr/bin/google-chrome-stable"},
		{"then brave", "linux", nil, []string{"/usr/bin/chromium", "/usr/bin/microsoft-edge-stable", "/usr/bin/brave-browser"}, "", "/usr/bin/brave-browser"},
		{"then edge", "linux", nil, []string{"/usr/bin/chromium", "/usr/bin/microsoft-edge-stable"}, "", "/usr/bin/microsoft-edge-stable"},
		{"outside the path", "linux", nil, []string{"/opt/google/chrome/chrome"}, "chrome", "/opt/google/chrome/chrome"},
		{"snap last", "linux", nil, []string{"/snap/bin/chromium", "/usr/bin/chromium"}, "chromium", "/usr/bin/chromium"},
		{"by name", "linux", nil, []string{"/usr/bin/chromium", "/usr/bin/google-chrome"}, "Chromium", "/usr/bin/chromium"},
		{"by alias", "linux", nil, []string{"/usr/bin/google-chrome", "/usr/bin/microsoft-edge"}, "msedge", "/usr/bin/microsoft-edge"},
		{"by program", "linux", nil, []string{"/usr/bin/vivaldi", "/usr/bin/google-chrome"}, "vivaldi", "/usr/bin/vivaldi"},
		{"by path", "linux", nil, []string{"/home/ann/my chrome", "/usr/bin/google-chrome"}, "/home/ann/my chrome", "/home/ann/my chrome"},
		{"mac", "darwin", map[string]string{"HOME": "/Users/ann"}, []string{macBrave, macChrome}, "", macChrome},
		{"mac, user's application directory", "darwin", map[string]string{"HOME": "/Users/ann"}, []string{macBrave}, "", macBrave},
		{"windows", "windows", windows, []string{winEdge, winChrome}, "", winChrome},
		{"windows edge", "windows", windows, []string{winEdge, winChrome}, "edge", winEdge},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := fakeMachine(c.goos, c.env, c.programs...).find(c.arg)
			if err != nil || got != c.want {
				t.Errorf("find(%q) = %q, %v, want %q", c.arg, got, err, c.want)
			}
		})
	}
}

func TestFindWithoutBrowser(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *machine
		arg  string
		code executor.Code
		hint string
	}{
		{"debian", fakeMachine("linux", nil, "/usr/bin/apt-get"), "", executor.ErrNoBackend, "apt-get install chromium"},
		{"fedora", fakeMachine("linux", nil, "/usr/bin/dnf"), "", executor.ErrNoBackend, "dnf install chromium"},
		{"mac", fakeMachine("darwin", nil), "", executor.ErrNoBackend, "brew install"},
		{"windows", fakeMachine("windows", nil), "", executor.ErrNoBackend, "winget install"},
		{"another browser installed", fakeMachine("linux", nil, "/usr/bin/chromium"), "brave", executor.ErrNoBackend, "chromium (/usr/bin/chromium)"},
		{"no such program", fakeMachine("linux", nil, "/usr/bin/chromium"), "netscape", executor.ErrNoBackend, "chromium (/usr/bin/chromium)"},
		{"no such path", fakeMachine("linux", nil, "/usr/bin/chromium"), "/opt/x", executor.ErrLaunchFailed, "chromium (/usr/bin/chromium)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, err := c.m.find(c.arg)
			e, ok := errors.AsType[*executor.Error](err)
			if !ok || path != "" || e.Code != c.code || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("find(%q) = %q, %v (%+v), want %s with hint %q", c.arg, path, err, e, c.code, c.hint)
			}
		})
	}
}

// TestFindChromeForTesting checks that the browser in the data directory is the last choice.
func TestFindChromeForTesting(t *testing.T) {
	m := fakeMachine("linux", nil)
	m.testing = func() string { return "/data/chrome" }
	for _, name := range []string{"", "chrome-for-testing", "Chrome-for-Testing"} {
		if path, err := m.find(name); err != nil || path != "/data/chrome" {
			t.Errorf("find(%q) = %q, %v", name, path, err)
		}
	}
	if path, err := m.find("chrome"); err == nil {
		t.Errorf("find(chrome) = %q", path)
	}
	both := fakeMachine("linux", nil, "/usr/bin/chromium")
	both.testing = m.testing
	if path, err := both.find(""); err != nil || path != "/usr/bin/chromium" {
		t.Errorf("with another browser, find = %q, %v", path, err)
	}
	if got := both.installed(); len(got) != 2 || got[1] != (Browser{"chrome-for-testing", "/data/chrome"}) {
		t.Errorf("installed = %v", got)
	}
}

func TestInstalled(t *testing.T) {
	m := fakeMachine("linux", nil, "/usr/bin/chromium", "/snap/bin/chromium", "/usr/bin/google-chrome")
	want := []Browser{{"chrome", "/usr/bin/google-chrome"}, {"chromium", "/usr/bin/chromium"}}
	if got := m.installed(); !slices.Equal(got, want) {
		t.Errorf("installed = %v, want %v", got, want)
	}
}

func TestHeadless(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		goos     string
		display  string
		headless *bool
		want     bool
		ok       bool
	}{
		{"linux", "", nil, true, true},
		{"linux", ":0", nil, false, true},
		{"linux", ":0", &yes, true, true},
		{"linux", "", &yes, true, true},
		{"linux", "", &no, false, false},
		{"linux", ":0", &no, false, true},
		{"darwin", "", nil, false, true},
		{"windows", "", &no, false, true},
	} {
		got, err := headless(c.headless, c.goos, func(k string) string {
			if k == "DISPLAY" {
				return c.display
			}
			return ""
		})
		if (err == nil) != c.ok || (c.ok && got != c.want) {
			t.Errorf("%+v: headless = %v, %v", c, got, err)
		}
	}
}
