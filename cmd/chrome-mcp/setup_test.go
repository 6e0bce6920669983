package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/hostconfig"
)

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
	return cli.ExitOK, stdout, stderr
}

// TestSetupWritesNoGrant passes each flag to setup, and checks that the entry has none that the
// policy counts as a grant, except for --allow-domain.
func TestSetupWritesNoGrant(t *testing.T) {
	granted := []string{"policy", "allow-private", "unsafe-all-domains", "enable-mutations", "enable-downloads", "enable-storage", "clipboard", "state-dir",
		"uploads-dir", "serve-directory", "unsafe-enable-eval", "secrets", "cdp-listen", "attach-default-context", "cdp-endpoint"}
	root := newRoot(nil, nil)
	for _, name := range granted {
		if root.Flag(name) == nil {
			t.Errorf("no flag --%s", name)
		}
		if code, out, said := runSetup(t, "cursor", "--print", "--"+name+"=1"); code == cli.ExitOK {
			t.Errorf("setup writes --%s: %s%s", name, out, said)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, flag := range []string{"--enable-mutations", "--policy=p.json", "--allow-private=10.0.0.0/8", "--secrets=all", "--unsafe-all-domains"} {
		if code, out, said := runSetup(t, "cursor", "--yes", flag); code != cli.ExitUsage || !strings.Contains(said, "setup does not write --") {
			t.Errorf("%s: exit code %d: %s%s", flag, code, out, said)
		}
	}
	// Variables of this terminal are not part of the entry.
	t.Setenv("CHROME_MCP_ENABLE_MUTATIONS", "true")
	t.Setenv("CHROME_MCP_ALLOW_DOMAIN", "variable.example")
	if code, out, said := runSetup(t, "cursor", "--print"); code != cli.ExitOK || strings.Contains(strings.ReplaceAll(out, `"--profile", "cursor"`, ""), "--") {
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
		if code != cli.ExitOK || !strings.HasPrefix(said, host.Title+" reads this from ") {
			t.Fatalf("%s: exit code %d: %s", host.Name, code, said)
		}
		for _, server := range parseHost(t, host.Key, out) {
			s, err := cli.Parse(server.Args, nil)
			if err != nil || !filepath.IsAbs(server.Command) || s.Profile != "work" || s.Tools.String() != "core,files" {
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
		if dir = "/sys/kernel"; !isDir(dir) {
			t.Skip("root, and no " + dir)
		}
	} else if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CODEX_HOME", dir)
	t.Setenv("PATH", "")
	code, out, said := runSetup(t, "codex", "--yes")
	if code != cli.ExitFailed || !strings.Contains(said, "hint: `chrome-mcp setup codex --print`") || out != "" {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	if _, err := os.Lstat(filepath.Join(dir, "config.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
