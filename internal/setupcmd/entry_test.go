package setupcmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
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
