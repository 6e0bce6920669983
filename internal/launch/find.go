package launch

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/chromefortesting"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

// A Browser is an installed browser.
type Browser struct {
	Name string // chrome, brave, edge, chromium or chrome-for-testing
	Path string // of the executable
}

// Find returns the path of the browser to launch, which is named by its path, by one of the names of
// [Browser], or by the name of a program on the PATH. It returns ErrNoBackend, with a hint on how to
// install a browser, if no such browser is installed, and ErrLaunchFailed if the path is not that of
// an executable. An empty dataDir means the default.
func Find(dataDir, nameOrPath string) (string, error) { return thisMachine(dataDir).find(nameOrPath) }

// IsPath reports whether Find uses nameOrPath as the path of a browser, which may be relative to the
// working directory.
func IsPath(nameOrPath string) bool {
	return strings.ContainsAny(nameOrPath, `/\`) || filepath.VolumeName(nameOrPath) != "" // C:chrome.exe is relative
}

// Installed lists the installed browsers in the order of preference of [Find], at most one for each
// name.
func Installed(dataDir string) []Browser { return thisMachine(dataDir).installed() }

// A machine is the part of the operating system that Find uses.
type machine struct {
	goos     string
	getenv   func(string) string
	lookPath func(string) (string, error) // as exec.LookPath
	stat     func(string) (fs.FileInfo, error)
	testing  func() string // path of the installed Chrome for Testing, or ""
}

// thisMachine returns the machine that this process runs on. An empty dataDir means the default.
func thisMachine(dataDir string) *machine {
	return &machine{goos: runtime.GOOS, getenv: os.Getenv, lookPath: exec.LookPath, stat: os.Stat, testing: func() string {
		dir, err := profiles.DataDir(dataDir)
		if err != nil {
			return ""
		}
		b, _ := chromefortesting.Find(dir)
		return b.Path
	}}
}

// chromeForTesting is the name of the browser that chromefortesting installs.
const chromeForTesting = "chrome-for-testing"

// browserNames are the browsers that Find searches for, in order of preference: first those for
// everyday use, because they play more media and users know them.
var browserNames = []string{"chrome", "brave", "edge", "chromium", chromeForTesting}

// aliases are other spellings of the names.
var aliases = map[string]string{
	"google-chrome": "chrome", "googlechrome": "chrome",
	"brave-browser": "brave",
	"msedge":        "edge", "microsoft-edge": "edge",
	"chromium-browser": "chromium",
}

// candidatePaths returns the paths at which the browser called name may be installed, or names to
// look up in the PATH.
func (m *machine) candidatePaths(name string) []string {
	switch m.goos {
	case "darwin":
		return m.macPaths(name)
	case "windows":
		return m.windowsPaths(name)
	}
	return map[string][]string{
		"chrome": {"google-chrome-stable", "google-chrome", "/opt/google/chrome/chrome", "google-chrome-beta", "google-chrome-unstable", "chrome"},
		"brave":  {"brave-browser", "brave-browser-stable", "brave", "/opt/brave.com/brave/brave-browser", "/snap/bin/brave"},
		"edge":   {"microsoft-edge-stable", "microsoft-edge", "/opt/microsoft/msedge/msedge", "microsoft-edge-beta", "microsoft-edge-dev"},
		// A snap is last: it cannot access a data directory whose name starts with a dot.
		"chromium": {"/usr/bin/chromium", "chromium", "ungoogled-chromium", "chromium-browser", "/snap/bin/chromium"},
	}[name]
}

func (m *machine) macPaths(name string) []string {
	app := map[string]string{"chrome": "Google Chrome", "brave": "Brave Browser", "edge": "Microsoft Edge", "chromium": "Chromium"}[name]
	inside := "/Applications/" + app + ".app/Contents/MacOS/" + app
	paths := []string{inside}
	if home := m.getenv("HOME"); home != "" {
		paths = append(paths, home+inside)
	}
	if name == "chromium" {
		paths = append(paths, "chromium") // Homebrew's wrapper
	}
	return paths
}

func (m *machine) windowsPaths(name string) []string {
	exe := map[string]string{
		"chrome":   `\Google\Chrome\Application\chrome.exe`,
		"brave":    `\BraveSoftware\Brave-Browser\Application\brave.exe`,
		"edge":     `\Microsoft\Edge\Application\msedge.exe`,
		"chromium": `\Chromium\Application\chrome.exe`,
	}[name]
	var paths []string
	for _, root := range []string{"ProgramFiles", "ProgramW6432", "ProgramFiles(x86)", "LocalAppData"} {
		if dir := m.getenv(root); dir != "" && !slices.Contains(paths, dir+exe) {
			paths = append(paths, dir+exe)
		}
	}
	return paths
}

// lookup returns the path of the browser called name, or "".
func (m *machine) lookup(name string) string {
	if name == chromeForTesting {
		return m.testing()
	}
	for _, candidate := range m.candidatePaths(name) {
		if path, err := m.lookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

func (m *machine) installed() []Browser {
	var found []Browser
	for _, name := range browserNames {
		if path := m.lookup(name); path != "" {
			found = append(found, Browser{Name: name, Path: path})
		}
	}
	return found
}

func (m *machine) find(nameOrPath string) (string, error) {
	if nameOrPath == "" {
		for _, name := range browserNames {
			if path := m.lookup(name); path != "" {
				return path, nil
			}
		}
		return "", executor.Errorf(executor.ErrNoBackend, m.installHint(), "no Chrome, Brave, Edge or Chromium is installed in the usual places")
	}
	if IsPath(nameOrPath) {
		return m.program(nameOrPath)
	}
	name := strings.ToLower(nameOrPath)
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	if slices.Contains(browserNames, name) {
		if path := m.lookup(name); path != "" {
			return path, nil
		}
		return "", executor.Errorf(executor.ErrNoBackend, m.othersInstalled(), "browser %q is not installed in the usual places", name)
	}
	if path, err := m.lookPath(nameOrPath); err == nil {
		return path, nil
	}
	return "", executor.Errorf(executor.ErrNoBackend, m.othersInstalled(), "program %q not found on the PATH", nameOrPath)
}

// program returns the path of an executable, or an error that says why path is not one.
func (m *machine) program(path string) (string, error) {
	info, err := m.stat(path)
	if err == nil && info.IsDir() && m.goos == "darwin" && strings.HasSuffix(path, ".app") {
		// The directory that Finder shows as the application.
		path = filepath.Join(path, "Contents", "MacOS", strings.TrimSuffix(filepath.Base(path), ".app"))
		info, err = m.stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", executor.Errorf(executor.ErrLaunchFailed, m.othersInstalled(), "browser %s does not exist", path)
	case err != nil:
		return "", executor.Errorf(executor.ErrLaunchFailed, "", "browser %s: %w", path, err)
	case info.IsDir():
		return "", executor.Errorf(executor.ErrLaunchFailed, "Specify the executable inside it.", "browser %s is a directory", path)
	}
	found, err := m.lookPath(path)
	if err != nil {
		return "", executor.Errorf(executor.ErrLaunchFailed, "Make it executable (chmod +x), or name another browser.", "browser %s is not executable", path)
	}
	return found, nil
}

// othersInstalled returns the hint for a browser that is not installed.
func (m *machine) othersInstalled() string {
	var names []string
	for _, f := range m.installed() {
		names = append(names, f.Name+" ("+f.Path+")")
	}
	if len(names) == 0 {
		return m.installHint()
	}
	return "Installed are: " + strings.Join(names, ", ") + "."
}

// installHint returns the hint for a machine without a browser.
func (m *machine) installHint() string {
	const orName = " Or install Chrome for Testing with chromium.Install, or name a browser by its path with Options.Browser."
	switch m.goos {
	case "darwin":
		return "Install one: brew install --cask google-chrome, or https://www.google.com/chrome/." + orName
	case "windows":
		return "Install one: winget install Google.Chrome, or https://www.google.com/chrome/." + orName
	}
	for _, pm := range []struct{ program, command string }{
		{"apt-get", "apt-get install chromium (on Ubuntu: https://www.google.com/chrome/, the snap is too confined)"},
		{"dnf", "dnf install chromium"},
		{"pacman", "pacman -S chromium"},
		{"apk", "apk add chromium"},
		{"zypper", "zypper install chromium"},
	} {
		if _, err := m.lookPath(pm.program); err == nil {
			return "Install one: " + pm.command + "." + orName
		}
	}
	return "Install one: https://www.google.com/chrome/ or your system's chromium package." + orName
}
