package extension

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func names(t *testing.T) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestID(t *testing.T) {
	// Users load the extension once, and native messaging hosts and servers refer to
	// this id. Another key would disconnect all of them.
	if got, want := ID(), "ihplnfoheipcmgfihjicoapgkmpglobn"; got != want {
		t.Errorf("id is %s, want %s", got, want)
	}
	var m struct {
		Key string `json:"key"`
	}
	if err := json.Unmarshal(read(t, "manifest.json"), &m); err != nil {
		t.Fatal(err)
	}
	der, err := base64.StdEncoding.DecodeString(m.Key)
	if err != nil || idOf(der) != ID() {
		t.Errorf("the id of the manifest's key is %s (%v)", idOf(der), err)
	}
}

func TestManifest(t *testing.T) {
	var m struct {
		Version     int               `json:"manifest_version"`
		Minimum     string            `json:"minimum_chrome_version"`
		Icons       map[string]string `json:"icons"`
		Permissions []string          `json:"permissions"`
		Hosts       []string          `json:"host_permissions"`
		Optional    []string          `json:"optional_host_permissions"`
		Scripts     []any             `json:"content_scripts"`
		Background  struct {
			Worker string `json:"service_worker"`
		} `json:"background"`
		Action struct {
			Popup string            `json:"default_popup"`
			Icon  map[string]string `json:"default_icon"`
		} `json:"action"`
		Options struct {
			Page string `json:"page"`
		} `json:"options_ui"`
		Panel struct {
			Path string `json:"default_path"`
		} `json:"side_panel"`
	}
	if err := json.Unmarshal(read(t, "manifest.json"), &m); err != nil {
		t.Fatal(err)
	}
	if m.Version != 3 || m.Minimum != "125" {
		t.Errorf("manifest version %d, minimum Chrome %s", m.Version, m.Minimum)
	}
	if len(m.Hosts)+len(m.Optional)+len(m.Scripts) != 0 {
		t.Error("the extension has host permissions or content scripts")
	}
	named := []string{m.Background.Worker, m.Action.Popup, m.Options.Page, m.Panel.Path}
	for _, icons := range []map[string]string{m.Icons, m.Action.Icon} {
		for _, name := range icons {
			named = append(named, name)
		}
	}
	for _, name := range named {
		if len(read(t, name)) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Permissions {
		if !bytes.Contains(readme, []byte("`"+p+"`")) {
			t.Errorf("README.md does not explain the permission %s", p)
		}
	}
}

var (
	imports = regexp.MustCompile(`(?m)(?:from|import)\s*\(?'(\.[^']*)'`)
	links   = regexp.MustCompile(`(?:src|href)="([^"#]+)"`)
)

// TestComplete checks that each reference from one file to another resolves.
func TestComplete(t *testing.T) {
	all := names(t)
	for _, name := range all {
		var refs []string
		text := string(read(t, name))
		switch path.Ext(name) {
		case ".js":
			if !strings.Contains(text[:min(len(text), 200)], "// @ts-check") {
				t.Errorf("%s is not type-checked", name)
			}
			for _, m := range imports.FindAllStringSubmatch(text, -1) {
				refs = append(refs, m[1])
			}
		case ".html":
			for _, m := range links.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(m[1], ":") {
					refs = append(refs, m[1])
				}
			}
			if regexp.MustCompile(`(?i)<script>|\son[a-z]+=|style=`).MatchString(text) {
				t.Errorf("%s has an inline script or style, which its content security policy blocks", name)
			}
		}
		for _, ref := range refs {
			if !slices.Contains(all, path.Join(path.Dir(name), ref)) {
				t.Errorf("%s refers to %s, which does not exist", name, ref)
			}
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d files", len(all))
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // the second call replaces the files of the first
		if err := Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names(t) {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, read(t, name)) {
			t.Errorf("%s differs", name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s was not removed", e.Name())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "file")); err == nil {
		t.Error("wrote into a file")
	}
}
