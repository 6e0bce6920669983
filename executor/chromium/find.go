package chromium

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/internal/chromefortesting"
	"github.com/chrome-mcp/chrome-mcp/internal/launch"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

// An InstalledBrowser is a browser that [Installed] found.
type InstalledBrowser struct {
	Name string // chrome, brave, edge, chromium or chrome-for-testing, as in Options.Browser
	Path string // of the executable
}

// Find returns the path of the browser to launch. nameOrPath is as in [Options].Browser. It returns
// ErrNoBackend, with a hint on how to install a browser, if no such browser is installed, and
// ErrLaunchFailed if the path is not that of an executable. It searches for chrome-for-testing in
// the default data directory.
func Find(nameOrPath string) (string, error) { return FindIn("", nameOrPath) }

// FindIn is like [Find] for the data directory of [Options].DataDir.
func FindIn(dataDir, nameOrPath string) (string, error) { return launch.Find(dataDir, nameOrPath) }

// Installed lists the installed browsers in the order of preference of [Find], at most one for each
// name.
func Installed() []InstalledBrowser { return InstalledIn("") }

// InstalledIn is like [Installed] for the data directory of [Options].DataDir.
func InstalledIn(dataDir string) []InstalledBrowser {
	var found []InstalledBrowser
	for _, b := range launch.Installed(dataDir) {
		found = append(found, InstalledBrowser(b))
	}
	return found
}

// Install installs Chrome for Testing in the data directory of [Options].DataDir, unless it is
// installed there, and returns the path of the executable. It downloads about 200 MB from servers of
// the Chrome team. It returns ErrNoBackend if there is no build for this machine, and otherwise
// ErrDownloadFailed.
func Install(ctx context.Context, dataDir string) (path string, err error) {
	dir, err := profiles.DataDir(dataDir)
	if err != nil {
		return "", err
	}
	b, _, err := chromefortesting.Install(ctx, chromefortesting.Options{DataDir: dir})
	return b.Path, err
}
