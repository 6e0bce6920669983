package launch

import (
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

// disableNetworkPrediction prevents a browser from connecting to a host before it needs the
// connection. With prediction enabled, Chromium connects to the target of a navigation before the
// policy is checked.
var disableNetworkPrediction = profiles.Preference{Group: "net", Name: "network_prediction_options", Value: 2}

// downloadDirectory is the directory of the downloads that no Browser.setDownloadBehavior applies to,
// such as one that a CDP client starts immediately before it disconnects. By default, Chromium would
// create the directory Downloads of the user for them.
func downloadDirectory(profile string) profiles.Preference {
	return profiles.Preference{Group: "download", Name: "default_directory", Value: filepath.Join(profile, "Downloads")}
}

// prepareProfile sets the preferences that a browser with options o needs, in
// the profile in dir. No browser may be using the profile.
func (o *Options) prepareProfile(dir string) error {
	profile := []profiles.Preference{noScreenCapture, downloadDirectory(dir)}
	if o.ProxyServer != "" {
		profile = append(profile, disableNetworkPrediction)
	}
	if err := profiles.SetPreferences(filepath.Join(dir, "Default", "Preferences"), profile); err != nil {
		return err
	}
	return profiles.SetPreferences(filepath.Join(dir, "Local State"), serverAuth(o.ProxyServer, o.AuthFilters))
}

// noScreenCapture denies getDisplayMedia, which prompts the user for a window or
// a screen.
var noScreenCapture = profiles.Preference{Group: "hardware", Name: "screen_capture_enabled", Value: false}

// serverAuth disables HTTP authentication, which prompts the user for a name and a password, except
// for the URLs that filters match. A page receives the 401 response itself. Authentication to the
// egress proxy still works.
func serverAuth(proxy string, filters []string) []profiles.Preference {
	all := []string{}
	if proxy != "" {
		all = append(all, "http://"+proxy)
	}
	return []profiles.Preference{
		{Group: "auth", Name: "schemes", Value: ""},
		{Group: "auth", Name: "http_auth_allowed_for_origins", Value: append(all, filters...)},
	}
}
