package chromium

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const (
	// activePortName is the file in its user data directory in which a browser publishes its
	// DevTools port and path.
	activePortName = "DevToolsActivePort"
	// maxActivePort bounds the size of the file, in bytes.
	maxActivePort = 4 << 10
)

// A runningBrowser is a kind of browser whose running instance can be found.
type runningBrowser struct {
	name    string // as in Options.CDPEndpoint
	title   string
	linux   string // user data directory in ~/.config
	mac     string // in ~/Library/Application Support
	windows string // in %LOCALAPPDATA%
}

// runningBrowsers are the browsers in the order in which "auto" looks for them.
var runningBrowsers = []runningBrowser{
	{"chrome", "Chrome", "google-chrome", "Google/Chrome", `Google\Chrome\User Data`},
	{"edge", "Edge", "microsoft-edge", "Microsoft Edge", `Microsoft\Edge\User Data`},
	{"brave", "Brave", "BraveSoftware/Brave-Browser", "BraveSoftware/Brave-Browser", `BraveSoftware\Brave-Browser\User Data`},
	{"chromium", "Chromium", "chromium", "Chromium", `Chromium\User Data`},
}

// anyRunning is the [Options].CDPEndpoint for the first running browser that is found.
const anyRunning = "auto"

// IsRunningName reports whether an [Options].CDPEndpoint is the name of a running browser, and not
// an address.
func IsRunningName(endpoint string) bool {
	return slices.Contains(RunningNames(), endpoint)
}

// RunningNames returns the names by which [Options].CDPEndpoint can select a running browser.
func RunningNames() []string {
	names := []string{anyRunning}
	for _, b := range runningBrowsers {
		names = append(names, b.name)
	}
	return names
}

// userData returns the directory of the user's data of a browser on an operating system, or "" if
// it is unknown.
func (b *runningBrowser) userData(goos, home string, getenv func(string) string) string {
	switch goos {
	case "windows":
		if local := getenv("LOCALAPPDATA"); local != "" {
			return filepath.Join(local, b.windows)
		}
		return ""
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", filepath.FromSlash(b.mac))
	}
	config := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, filepath.FromSlash(b.linux))
}

// FindRunning returns the WebSocket URL of the running browser with a name of [RunningNames], or
// ErrNoBackend. The URL gives full control of the browser.
func FindRunning(name string) (*url.URL, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, executor.Errorf(executor.ErrNoBackend, "Set the URL of the browser.", "no home directory: %w", err)
	}
	title := "browser"
	var problems []error
	for _, b := range runningBrowsers {
		if name != anyRunning && name != b.name {
			continue
		}
		if name == b.name {
			title = b.title
		}
		dir := b.userData(runtime.GOOS, home, os.Getenv)
		if dir == "" {
			continue
		}
		u, err := readActivePort(dir)
		switch {
		case err == nil:
			return u, nil
		case !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, err)
		}
	}
	why := ""
	if err := errors.Join(problems...); err != nil {
		why = ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return nil, executor.Errorf(executor.ErrNoBackend, "Switch remote debugging on at chrome://inspect/#remote-debugging in the browser, or set its URL.",
		"no running %s with remote debugging was found%s", title, why)
}

// readActivePort returns the WebSocket URL in the file that a browser has written to a user data
// directory, if the browser is running and listens there: one that was killed leaves its file
// behind, and any program can listen on its port afterwards.
func readActivePort(dir string) (*url.URL, error) {
	path := filepath.Join(dir, activePortName)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxActivePort {
		return nil, fmt.Errorf("%s is not a file of a browser", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	first, target, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	port, err := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
	target = strings.TrimSpace(target)
	if err != nil || port == 0 || !strings.HasPrefix(target, "/devtools/browser") {
		return nil, fmt.Errorf("%s is not a file of a browser", path)
	}
	if !browserHolds(dir) {
		return nil, fmt.Errorf("the browser of %s has exited", path)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10))
	conn, err := net.DialTimeout("tcp", address, timing.Current().PortCheck)
	if err != nil {
		return nil, fmt.Errorf("the browser of %s has exited", path)
	}
	conn.Close()
	return &url.URL{Scheme: "ws", Host: address, Path: target}, nil
}

// browserHolds reports whether a process of this user holds Chromium's lock of a user data
// directory. It returns true on Windows, where the lock does not name the process.
func browserHolds(dir string) bool {
	if runtime.GOOS == "windows" {
		return true
	}
	_, pid, ok := profiles.Singleton(dir)
	if !ok {
		return false
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil // an error if the process is another user's
}
