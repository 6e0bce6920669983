package chromium

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// A preference is a setting of Chromium that no switch changes.
type preference struct {
	group, name string
	value       any
}

// disableNetworkPrediction prevents a browser from connecting to a host before it needs the
// connection. With prediction enabled, Chromium connects to the target of a navigation before the
// policy is checked.
var disableNetworkPrediction = preference{"net", "network_prediction_options", 2}

// downloadDirectory is the directory of the downloads that no Browser.setDownloadBehavior applies to,
// such as one that a CDP client starts immediately before it disconnects. By default, Chromium would
// create the directory Downloads of the user for them.
func downloadDirectory(profile string) preference {
	return preference{"download", "default_directory", filepath.Join(profile, "Downloads")}
}

// prepareProfile sets the preferences that a browser with options o needs, in
// the profile in dir. No browser may be using the profile.
func (o *Options) prepareProfile(dir string) error {
	profile := []preference{noScreenCapture, downloadDirectory(dir)}
	if o.ProxyServer != "" {
		profile = append(profile, disableNetworkPrediction)
	}
	if err := setPreferences(filepath.Join(dir, "Default", "Preferences"), profile); err != nil {
		return err
	}
	return setPreferences(filepath.Join(dir, "Local State"), serverAuth(o.ProxyServer, o.HTTPCredentials))
}

// setPreferences sets preferences in a preferences file of Chromium.
func setPreferences(file string, list []preference) error {
	all := map[string]json.RawMessage{}
	switch data, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case json.Unmarshal(data, &all) != nil || all == nil:
		all = map[string]json.RawMessage{} // Chromium would also discard an invalid file
	}
	changed := false
	for _, p := range list {
		group := map[string]json.RawMessage{}
		if json.Unmarshal(all[p.group], &group) != nil || group == nil {
			group = map[string]json.RawMessage{}
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return err
		}
		if string(group[p.name]) == string(value) {
			continue
		}
		changed = true
		group[p.name] = value
		if all[p.group], err = json.Marshal(group); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	_, err = owneronly.WriteFile(file, data)
	return err
}
