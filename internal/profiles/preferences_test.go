package profiles

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestSetPreferences(t *testing.T) {
	for name, before := range map[string]string{
		"new profile": "", "other preferences": `{"net": {"x": 12345678901234567890}, "y": [1]}`, "invalid file": "{", "null": `{"net": null}`,
		"already set": `{"net": {"network_prediction_options": 2}}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "Default", "Preferences")
			if before != "" {
				if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := SetPreferences(file, []Preference{{"net", "network_prediction_options", 2}}); err != nil {
					t.Fatal(err)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var now struct {
				Net struct {
					Option int             `json:"network_prediction_options"`
					X      json.RawMessage `json:"x"`
				} `json:"net"`
				Y json.RawMessage `json:"y"`
			}
			if err := json.Unmarshal(data, &now); err != nil || now.Net.Option != 2 {
				t.Errorf("%s, %v", data, err)
			}
			if name == "other preferences" && (string(now.Net.X) != "12345678901234567890" || string(now.Y) != "[1]") {
				t.Errorf("the other preferences became %s", data)
			}
			if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
				t.Errorf("files: %v", left)
			}
		})
	}
}
