package compose

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// TestPolicyDirectories checks that the upload and state directories must be directories.
func TestPolicyDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--uploads-dir", "--state-dir"} {
		for path, want := range map[string]string{dir: "", file: "is not a directory", filepath.Join(dir, "none"): "does not exist", filepath.Join(file, "below"): "not a directory"} {
			s, err := cli.Parse([]string{flag, path}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Policy(s)
			if usage, ok := errors.AsType[*cli.UsageError](err); want == "" && err != nil || want != "" && (!ok || !strings.Contains(usage.Error(), want)) {
				t.Errorf("%s %s: %v, want %q", flag, path, err, want)
			}
		}
	}
}

// TestUploadsDirWithSecrets checks that no secrets can be uploaded to pages.
func TestUploadsDirWithSecrets(t *testing.T) {
	uploads := filepath.Join(t.TempDir(), "uploads")
	if err := os.MkdirAll(filepath.Join(uploads, "states"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(uploads, link); err != nil {
		t.Skip(err)
	}
	other := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		name    string
		args    []string
		private []string
		bad     bool
	}{
		{"separate directories", []string{"--uploads-dir", uploads, "--data", other}, []string{filepath.Join(other, "tokens.json")}, false},
		{"directory in the data directory", []string{"--uploads-dir", uploads, "--data", filepath.Dir(uploads)}, nil, false},
		{"data directory that does not exist", []string{"--uploads-dir", uploads, "--data", filepath.Join(uploads, "none", "data")}, nil, true},
		{"link to the directory of the data directory", []string{"--uploads-dir", link, "--data", filepath.Join(uploads, "data")}, nil, true},
		{"data directory through a link", []string{"--uploads-dir", uploads, "--data", filepath.Join(link, "data")}, nil, true},
		{"state directory", []string{"--uploads-dir", uploads, "--data", other, "--state-dir", filepath.Join(uploads, "states")}, nil, true},
		{"one directory for both", []string{"--uploads-dir", uploads, "--data", other, "--state-dir", uploads}, nil, true},
		{"file of another token", []string{"--uploads-dir", uploads, "--data", other}, []string{filepath.Join(uploads, "passwords.json")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := cli.Parse(c.args, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.Private = c.private
			_, err = Policy(s)
			usage, ok := errors.AsType[*cli.UsageError](err)
			if c.bad && (!ok || !strings.Contains(usage.Error(), "whose files can be uploaded to pages, contains ")) || !c.bad && err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}
