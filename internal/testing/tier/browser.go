package tier

import (
	"os"
	"os/exec"
)

// BrowserVariable is the environment variable that selects the browser: the user sets it for the tests,
// and a test sets it for a program that it starts.
const BrowserVariable = "CHROME_MCP_BROWSER"

// browser is the browser that the user named, or "".
var browser = os.Getenv(BrowserVariable)

// FullBrowser returns the browser for a test that depends on the browser's user interface or on its
// extensions, as Options.Browser of package chromium: that of the user, or "", the installed one.
func FullBrowser() string { return browser }

// Shell returns the browser for any other test: that of the user, or a headless shell, which needs less
// than half of the CPU time of a Chromium to start and to open a window. Shell returns "", the installed
// browser, if no headless shell is installed, and for the deep tests.
func Shell() string {
	if browser != "" || LongEnabled() {
		return browser
	}
	for _, name := range []string{"chromium-headless-shell", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// SetShell makes [Shell] the browser of the programs that the tests start. A test in which a program needs
// another one sets BrowserVariable to [FullBrowser].
func SetShell() { os.Setenv(BrowserVariable, Shell()) }
