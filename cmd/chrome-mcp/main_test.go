package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/acpagent"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// binary is the program under test, built as a user builds it.
var binary string

func TestMain(m *testing.M) {
	acpagent.Handle()
	timing.ScaleForTests(5)
	tier.SetShell()
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "chrome-mcp-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "chrome-mcp")
	// The tests do not read the configuration of the user who runs them, but the go command does.
	if config, err := os.UserConfigDir(); err == nil && os.Getenv("GOENV") == "" {
		os.Setenv("GOENV", filepath.Join(config, "go", "env"))
	}
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	if err := build(binary, "-X github.com/chrome-mcp/chrome-mcp/internal/timing.forTests=5,ProfileInUse=500ms,Actionability=1s,Option=1s"); err != nil {
		return 0, err
	}
	defer closeSharedUserBrowser()
	return m.Run(), nil
}

// build builds the program, with more flags of the linker. Without them, it is the one that users get.
func build(output, ldflags string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X main.version=v0.0.0-test "+ldflags, "-o", output, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// needChromium skips a test if no browser is installed, except in CI.
func needChromium(t *testing.T) {
	t.Helper()
	userbrowser.Find(t)
}

// rootNeedsNoSandbox returns the flag that Chromium requires when running as root.
func rootNeedsNoSandbox() []string {
	if os.Geteuid() == 0 {
		return []string{"--no-sandbox"}
	}
	return nil
}
