package setupcmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/hostconfig"
)

// TestSetupEntry checks the command that a host starts, for the ways in which the program can be
// installed.
func TestSetupEntry(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program := write("versions/1/chrome-mcp", "")
	other := write("other/chrome-mcp", "")
	const below = "/node_modules/@chrome-mcp/linux-x64/bin/chrome-mcp"
	npx := write("_npx/0a1b"+below, "")
	write("_npx/0a1b/package.json", `{"dependencies": {"chrome-mcp": "^1.2.3"}, "_npx": {"packages": ["chrome-mcp@latest", "/a b.tgz"]}}`)
	broken := write("_npx/2c3d"+below, "")
	write("_npx/2c3d/package.json", `{}`)
	path := func(name string) { t.Setenv("PATH", filepath.Join(dir, name)) }
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "links"), 0o700), os.Symlink(program, filepath.Join(dir, "links", "chrome-mcp"))); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		self, goos, path string
		want             string // words, separated by |
	}{
		{program, "linux", "none", program},
		{program, "linux", "links", filepath.Join(dir, "links", "chrome-mcp")},
		{program, "linux", "other", program},
		{other, "linux", "links", other},
		{npx, "linux", "links", "npx|-y|-p|chrome-mcp@latest|-p|/a b.tgz|chrome-mcp"},
		{npx, "windows", "links", "cmd|/c|npx|-y|-p|chrome-mcp@latest|-p|/a b.tgz|chrome-mcp"},
	} {
		path(tt.path)
		e, err := entryOf(tt.self, tt.goos)
		if got := strings.Join(append([]string{e.Command}, e.Args...), "|"); err != nil || got != tt.want {
			t.Errorf("%s on %s: %s, %v; want %s", tt.self, tt.goos, got, err, tt.want)
		}
	}
	for self, want := range map[string]string{
		broken:                                "does not name the packages of npx",
		"/tmp/go-build12/b001/exe/chrome-mcp": "is temporary",
	} {
		usage, ok := errors.AsType[*cli.UsageError](second(entryOf(self, "linux")))
		if !ok || !strings.Contains(usage.Error(), want) || usage.Hint == "" {
			t.Errorf("%s: %v, want %q", self, usage, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestOurs checks which entries of a configuration are this program's, so that --yes replaces them.
func TestOurs(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(t.TempDir(), "browser")
	if err := os.Symlink(self, renamed); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		words string
		want  bool
	}{
		{self, true},
		{renamed, true},
		{"/usr/local/bin/chrome-mcp", true},
		{`C:\Tools\chrome-mcp.exe`, true},
		{"npx -y chrome-mcp@1.2.3", true},
		{"npx -y chrome-devtools-mcp@latest", false},
		{"/usr/bin/env", false},
	} {
		words := strings.Fields(tt.words)
		if got := isOurs(hostconfig.Entry{Command: words[0], Args: words[1:]}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.words, got, tt.want)
		}
	}
}
