// Package npm_test packs the npm packages, and installs and runs them with npm and npx.
package npm_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const version = "0.0.0-test"

// What build.mjs builds is named here for deeptest, which finds the inputs of tests by their names.
var _ = "../cmd/chrome-mcp"

// platform returns npm's name of this platform.
func platform() string {
	system, processor := runtime.GOOS, runtime.GOARCH
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return system + "-" + processor
}

// run runs a command in a directory and returns its output.
func run(t *testing.T, dir, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, er bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &er
	// A separate cache and no network: only the tarballs are available.
	cmd.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(dir, "cache"), "npm_config_offline=true", "npm_config_audit=false", "npm_config_fund=false")
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), er.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return out.String(), er.String(), 0
}

func TestPackages(t *testing.T) {
	tier.Slow(t)
	for _, tool := range []string{"node", "npm", "npx"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip("Node not found")
		}
	}
	dir := t.TempDir()
	if _, stderr, code := run(t, ".", "node", "build.mjs", version, "--out", dir, platform()); code != 0 {
		t.Fatalf("packing failed: %s", stderr)
	}
	checkSums(t, dir)
	tarballs, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(tarballs) != 2 {
		t.Fatalf("packed %q, %v", tarballs, err)
	}
	home := t.TempDir()
	if _, stderr, code := run(t, home, "npm", append([]string{"install", "--ignore-scripts"}, tarballs...)...); code != 0 {
		t.Fatalf("npm install failed: %s", stderr)
	}

	t.Run("tools", func(t *testing.T) { listTools(t, home) })
	t.Run("the README's entry for npx", func(t *testing.T) { readmeEntry(t, dir) })
	t.Run("exit codes", func(t *testing.T) {
		if stdout, _, code := run(t, home, "npx", "chrome-mcp", "version"); code != 0 || strings.TrimSpace(stdout) != "chrome-mcp "+version {
			t.Errorf("version: %q, exit code %d", stdout, code)
		}
		if stdout, stderr, code := run(t, home, "npx", "chrome-mcp", "--no-such-flag"); code != 2 || stdout != "" || !strings.Contains(stderr, "no-such-flag") {
			t.Errorf("a wrong flag: exit code %d, %q, %q", code, stdout, stderr)
		}
	})
	t.Run("signals", func(t *testing.T) { passesSignals(t, home) })
	t.Run("another platform", func(t *testing.T) {
		if err := os.RemoveAll(filepath.Join(home, "node_modules", "@chrome-mcp")); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := run(t, home, "npx", "chrome-mcp", "version")
		if code != 1 || !strings.Contains(stderr, "@chrome-mcp/"+platform()+" is not installed") || !strings.Contains(stderr, "Install chrome-mcp again") {
			t.Errorf("without the platform's package: exit code %d, %q", code, stderr)
		}
	})
}

func TestBadBuild(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("Node not found")
	}
	for _, c := range [][]string{{"v1"}, {}, {"1.2.3", "plan9-x64"}} {
		dir := t.TempDir()
		_, stderr, code := run(t, ".", "node", append(append([]string{"build.mjs"}, c...), "--out", filepath.Join(dir, "out"))...)
		if code != 2 || !strings.HasPrefix(stderr, "error: ") {
			t.Errorf("%q: exit code %d, %q", c, code, stderr)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%q: something was built", c)
		}
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.txt")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run(t, ".", "node", "build.mjs", "1.2.3", platform(), "--out", dir); code != 2 || !strings.Contains(stderr, "mine.txt") {
		t.Errorf("a directory of the user: exit code %d, %q", code, stderr)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a directory of the user was emptied: %v", err)
	}
}

// checkSums checks that SHA256SUMS matches the tarballs.
func checkSums(t *testing.T, dir string) {
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
	if len(lines) != 2 {
		t.Errorf("%d sums, want 2", len(lines))
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if is := sha256.Sum256(data); sum != hex.EncodeToString(is[:]) {
			t.Errorf("the sum of %s is wrong", name)
		}
	}
}

// npx starts the program as an MCP host does.
func npx(t *testing.T, home string, args ...string) (*exec.Cmd, *sdk.ClientSession) {
	t.Helper()
	cmd := exec.Command("npx", append([]string{"--no-install", "chrome-mcp", "--data", filepath.Join(home, "data"), "--prefer", "cdp"}, args...)...)
	cmd.Dir = home
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return cmd, session
}

func listTools(t *testing.T, home string) {
	_, session := npx(t, home)
	if v := session.InitializeResult().ServerInfo.Version; v != version {
		t.Errorf("the server has version %s", v)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 26 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "chrome_status", Arguments: map[string]any{}})
	if err != nil || res.IsError {
		t.Errorf("chrome_status: %+v, %v", res, err)
	}
}

// readmeEntry starts the server with the host configuration in docs/install.md, and the tarballs in
// dir.
func readmeEntry(t *testing.T, dir string) {
	text, err := os.ReadFile("../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, entry, found := strings.Cut(string(text), "<!-- npx -->\n```json\n")
	entry, _, closed := strings.Cut(entry, "\n```\n")
	if !found || !closed {
		t.Fatal("docs/install.md has no entry for npx")
	}
	entry = strings.NewReplacer("/path/to/dist/npm", dir, "0.0.0-devel", version, "linux-x64", platform()).Replace(entry)
	var config struct {
		MCPServers struct {
			Chrome struct {
				Command string
				Args    []string
			}
		}
	}
	if err := json.Unmarshal([]byte(entry), &config); err != nil {
		t.Fatalf("%v\n%s", err, entry)
	}
	home := t.TempDir()
	cmd := exec.Command(config.MCPServers.Chrome.Command, append(config.MCPServers.Chrome.Args, "--data", filepath.Join(home, "data"))...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(home, "cache"), "npm_config_offline=true")
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 26 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
}

// passesSignals terminates npx as a host does, and waits until the program has exited.
func passesSignals(t *testing.T, home string) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals")
	}
	starter := filepath.Join(home, "node_modules", "chrome-mcp", "bin", "chrome-mcp.js")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", starter, "--data", filepath.Join(home, "data"), "--prefer", "cdp")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	request, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	}})
	stdin.Write(append(request, '\n'))
	answer := make([]byte, 1)
	if _, err := stdout.Read(answer); err != nil { // so the program runs
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// stdout ends when the program exits
	for buf := make([]byte, 4096); err == nil; {
		_, err = stdout.Read(buf)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); !slices.Contains([]int{0, 143}, code) {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}
