package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProfileCommand(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, name := range []string{"default", "work"} {
		dir := filepath.Join(data, "profiles", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "Cookies"), make([]byte, 1536), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args, want string
		fails      bool
	}{
		{"profile", "default              1.5 KB\nwork                 1.5 KB\n", false},
		{"profile reset work", "emptied profile work\n", false},
		{"profile list", "work                 0 B, last used 20", false},
		{"profile remove work", "removed profile work\n", false},
		{"profile remove work", `profile "work" does not exist` + "\nhint: `chrome-mcp profile list` lists the profiles.", true},
		{"profile remove", "name the profile to remove\nhint: `chrome-mcp profile list` lists them.", true},
		{"profile remove default", "removed", false},
		{"profile list", "no profiles\n", false},
	} {
		stdout, stderr, err := execute(t, data, nil, strings.Fields(c.args)...)
		if text := stdout + stderr; !strings.Contains(text, c.want) || (err != nil) != c.fails {
			t.Errorf("%s: %v\n%s\nwant %s", c.args, err, text, c.want)
		}
	}
}
