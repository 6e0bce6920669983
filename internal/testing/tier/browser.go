package tier

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// MaxProcesses returns the number of test processes on this machine that may use browsers at the same
// time: one for each core, because a test waits for its browser most of the time. On two cores, one process
// leaves the machine idle for more than half of the time.
func MaxProcesses() int { return min(runtime.NumCPU(), 4) }

// browserVariable is the environment variable that selects the browser: the user sets it for the tests,
// and the tests set it for the programs that they start.
const browserVariable = "CHROME_MCP_BROWSER"

// browser is the browser that the user selected, or "".
var browser = os.Getenv(browserVariable)

// FullBrowser returns the browser for a test that depends on the browser's user interface or on its
// extensions, as Options.Browser of package chromium: that of the user, or "", the installed one.
func FullBrowser() string { return browser }

// Shell returns the browser for any other test: that of the user, or a headless shell, which needs less
// than half of the CPU time of a Chromium to start and to open a window. Shell returns "", the installed
// browser, if no headless shell is installed, and for the deep tests.
func Shell() string {
	if browser != "" || DeepEnabled() {
		return browser
	}
	// Debian's /usr/bin/chromium-headless-shell is a script: killing its process does not kill the browser.
	for _, name := range []string{"/usr/lib/chromium/chromium-headless-shell", "chromium-headless-shell", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// SetShell makes [Shell] the browser of the programs that the tests of this process start. Those that need
// another one call [SetFullBrowser], or use [FullEnviron].
func SetShell() {
	if shell := Shell(); shell != "" {
		os.Setenv(browserVariable, shell)
	}
}

// SetFullBrowser makes [FullBrowser] the browser of the programs that the test starts.
func SetFullBrowser(t testing.TB) {
	t.Setenv(browserVariable, browser)
	if browser == "" {
		os.Unsetenv(browserVariable)
	}
}

// FullEnviron returns the environment of this process with [FullBrowser] as the browser.
func FullEnviron() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, browserVariable+"=") })
	if browser != "" {
		env = append(env, browserVariable+"="+browser)
	}
	return env
}
