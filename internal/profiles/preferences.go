package profiles

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// A Preference is a setting of Chromium that no switch changes.
type Preference struct {
	Group, Name string
	Value       any
}

// SetPreferences sets preferences in a preferences file of Chromium. No browser may be using its
// profile.
func SetPreferences(file string, list []Preference) error {
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
		if json.Unmarshal(all[p.Group], &group) != nil || group == nil {
			group = map[string]json.RawMessage{}
		}
		value, err := json.Marshal(p.Value)
		if err != nil {
			return err
		}
		if string(group[p.Name]) == string(value) {
			continue
		}
		changed = true
		group[p.Name] = value
		if all[p.Group], err = json.Marshal(group); err != nil {
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
