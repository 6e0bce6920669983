package launch

import (
	"os"
	"path/filepath"
	"runtime"
)

// CDP does not report Chromium's own dialogs, unlike those of a page. Such a dialog takes the input
// of its tab, and in a headless browser no user can answer it. A launched browser therefore opens
// none of them: requests that would prompt its user are denied. Package page denies passkeys,
// because that requires CDP.

// dialogFeatures are disabled because they prompt the user. Pages can detect that they are missing.
var dialogFeatures = []string{
	"FedCm",
	"WebIdentityDigitalCredentials",
	"WebIdentityDigitalCredentialsCreation",
}

// BlocksPrograms reports whether we can prevent a browser that we start from
// opening other programs. Windows and macOS have no xdg-settings. Chromium
// prompts its user there, but only for schemes of programs that are installed.
const BlocksPrograms = runtime.GOOS != "windows" && runtime.GOOS != "darwin"

// noOtherPrograms returns the environment of a browser on the profile in dir that does not open
// links such as tel: in other programs. Chromium drops a link if Chromium is the default program
// for the scheme, which it checks with xdg-settings. The first xdg-settings on its PATH is ours,
// which answers yes for every scheme.
func noOtherPrograms(dir string) ([]string, error) {
	env := os.Environ()
	if !BlocksPrograms {
		return env, nil
	}
	bin := filepath.Join(dir, "chrome-mcp-bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(bin, "xdg-settings"), []byte("#!/bin/sh\necho yes\n"), 0o700); err != nil {
		return nil, err
	}
	return append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH")), nil
}
