// Package chromefortesting installs Chrome for Testing, the build of Chrome for automation, in a
// data directory, and finds it there.
//
// The archives have no signature. Their versions and URLs come from a JSON file of the Chrome team
// over https, and the storage server sends the checksums of each archive with it.
package chromefortesting

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// A Browser is an installed Chrome for Testing.
type Browser struct {
	Version string // such as 131.0.6778.204
	Path    string // of the executable
}

// versionPattern matches the versions of Chrome. A version becomes a part of a path.
var versionPattern = lazyregexp.New(`^[0-9]{1,5}(\.[0-9]{1,5}){3}$`)

// directory returns the directory of all versions in a data directory.
func directory(dataDir string) string {
	return filepath.Join(dataDir, "browsers", "chrome-for-testing")
}

// Find returns the newest version that Install has installed in a data directory for this machine.
// It reports false if there is none. It ignores directories that others can write to.
func Find(dataDir string) (Browser, bool) {
	return find(dataDir, platform(runtime.GOOS, runtime.GOARCH))
}

func find(dataDir, platform string) (Browser, bool) {
	entries, err := os.ReadDir(directory(dataDir))
	if err != nil {
		return Browser{}, false
	}
	var newest Browser
	for _, e := range entries {
		version, of, _ := strings.Cut(e.Name(), "-")
		if of != platform || !versionPattern().MatchString(version) {
			continue
		}
		dir := filepath.Join(directory(dataDir), e.Name())
		info, err := os.Lstat(dir)
		if err != nil || owneronly.CheckDir(info) != nil {
			continue
		}
		path := filepath.Join(dir, executable(platform))
		if info, err := os.Stat(path); err != nil || !isProgram(info) {
			continue
		}
		if newest.Path == "" || compareVersions(version, newest.Version) > 0 {
			newest = Browser{version, path}
		}
	}
	return newest, newest.Path != ""
}

func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, _ := strconv.Atoi(x) // versionPattern matches both
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}

// platform returns the name of a platform in the JSON file, or "" if Chrome has none for it.
func platform(goos, goarch string) string {
	return map[string]string{
		"linux/amd64": "linux64", "linux/arm64": "linux-arm64",
		"darwin/amd64": "mac-x64", "darwin/arm64": "mac-arm64",
		"windows/386": "win32", "windows/amd64": "win64", "windows/arm64": "win64", // which emulates it
	}[goos+"/"+goarch]
}

// executable returns the path of the program in the archive of a platform.
func executable(platform string) string {
	dir := "chrome-" + platform
	switch {
	case strings.HasPrefix(platform, "mac-"):
		const name = "Google Chrome for Testing"
		return filepath.Join(dir, name+".app", "Contents", "MacOS", name)
	case strings.HasPrefix(platform, "win"):
		return filepath.Join(dir, "chrome.exe")
	}
	return filepath.Join(dir, "chrome")
}

// isProgram reports whether a file can be executed by its owner.
func isProgram(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o100 != 0)
}
