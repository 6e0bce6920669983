package chromium

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// noScreenCapture denies getDisplayMedia, which prompts the user for a window or
// a screen.
var noScreenCapture = preference{"hardware", "screen_capture_enabled", false}

// serverAuth disables HTTP authentication, which prompts the user for a name and a password, except
// for the origins of credentials. A page receives the 401 response itself. Authentication to the
// egress proxy still works.
func serverAuth(proxy string, credentials map[string]HTTPCredentials) []preference {
	filters := []string{}
	if proxy != "" {
		filters = append(filters, "http://"+proxy)
	}
	for _, origin := range slices.Sorted(maps.Keys(credentials)) {
		filters = append(filters, exactFilter(origin))
	}
	return []preference{{"auth", "schemes", ""}, {"auth", "http_auth_allowed_for_origins", filters}}
}

// exactFilter returns the URL filter, in the format of Chromium's policies, that matches an origin.
// Without the dot it would also match subdomains, and without a port all ports.
func exactFilter(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin // matches nothing
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPorts[u.Scheme]))
	if _, err := netip.ParseAddr(u.Hostname()); err != nil {
		address = "." + address
	}
	return u.Scheme + "://" + address
}

// blocksPrograms reports whether we can prevent a browser that we start from
// opening other programs. Windows and macOS have no xdg-settings. Chromium
// prompts its user there, but only for schemes of programs that are installed.
const blocksPrograms = runtime.GOOS != "windows" && runtime.GOOS != "darwin"

// noOtherPrograms returns the environment of a browser on the profile in dir that does not open
// links such as tel: in other programs. Chromium drops a link if Chromium is the default program
// for the scheme, which it checks with xdg-settings. The first xdg-settings on its PATH is ours,
// which answers yes for every scheme.
func noOtherPrograms(dir string) ([]string, error) {
	env := os.Environ()
	if !blocksPrograms {
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
