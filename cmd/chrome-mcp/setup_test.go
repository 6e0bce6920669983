package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		usage, ok := errors.AsType[*usageError](second(entryOf(self, "linux")))
		if !ok || !strings.Contains(usage.Error(), want) || usage.hint == "" {
			t.Errorf("%s: %v, want %q", self, usage, want)
		}
	}
}

// runSetup runs setup in the built program: that of the test is in a temporary directory of go test.
func runSetup(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := execute(t, t.TempDir(), nil, append([]string{"setup"}, args...)...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), stdout, stderr
	}
	if err != nil {
		t.Fatal(err)
	}
	return exitOK, stdout, stderr
}

func second[T any](_ T, err error) error { return err }

// TestSetupWritesNoGrant passes each flag to setup, and checks that the entry has none that the
// policy counts as a grant, except for --allow-domain.
func TestSetupWritesNoGrant(t *testing.T) {
	granted := []string{"policy", "allow-private", "unsafe-all-domains", "enable-mutations", "enable-downloads", "enable-storage", "clipboard", "state-dir",
		"uploads-dir", "serve-directory", "unsafe-enable-eval", "secrets", "cdp-listen", "attach-default-context", "cdp-endpoint"}
	root, _ := newRoot(nil, nil)
	for _, name := range granted {
		if root.Flag(name) == nil {
			t.Errorf("no flag --%s", name)
		}
		if slices.Contains(setupWrites, name) {
			t.Errorf("setup writes --%s", name)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, flag := range []string{"--enable-mutations", "--policy=p.json", "--allow-private=10.0.0.0/8", "--secrets=all", "--unsafe-all-domains"} {
		if code, out, said := runSetup(t, "cursor", "--yes", flag); code != exitUsage || !strings.Contains(said, "setup does not write --") {
			t.Errorf("%s: exit code %d: %s%s", flag, code, out, said)
		}
	}
	// Variables of this terminal are not part of the entry.
	t.Setenv("CHROME_MCP_ENABLE_MUTATIONS", "true")
	t.Setenv("CHROME_MCP_ALLOW_DOMAIN", "variable.example")
	if code, out, said := runSetup(t, "cursor", "--print"); code != exitOK || strings.Contains(strings.ReplaceAll(out, `"--profile", "cursor"`, ""), "--") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	if files, err := os.ReadDir(home); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

// TestSetupFragments parses what setup prints for each host, with the flags of the program.
func TestSetupFragments(t *testing.T) {
	for _, host := range hostconfig.Hosts() {
		args := []string{host.Name, "--print", "--allow-domain", "example.com", "--block-domain", "ads.example.com", "--profile", "work", "--tools", "core,files"}
		code, out, said := runSetup(t, args...)
		if code != exitOK || !strings.HasPrefix(said, host.Title+" reads this from ") {
			t.Fatalf("%s: exit code %d: %s", host.Name, code, said)
		}
		for _, server := range parseHost(t, host.Key, out) {
			s, command, err := parseCommand(server.Args, nil)
			if err != nil || len(command) > 0 || !filepath.IsAbs(server.Command) || s.profile != "work" || s.tools.String() != "core,files" {
				t.Errorf("%s: %q, %v", host.Name, server, err)
			}
		}
	}
}

// TestSetupReadOnlyDirectory changes a file in a directory in which no file can be created. Root
// can write to every directory, except to those of the kernel.
func TestSetupReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if dir = "/sys/kernel"; !exists(dir) {
			t.Skip("root, and no " + dir)
		}
	} else if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CODEX_HOME", dir)
	t.Setenv("PATH", "")
	code, out, said := runSetup(t, "codex", "--yes")
	if code != exitFailed || !strings.Contains(said, "hint: `chrome-mcp setup codex --print`") || out != "" {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	if _, err := os.Lstat(filepath.Join(dir, "config.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
