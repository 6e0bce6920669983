package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdpsuite"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestCDPExamples runs the programs of examples/playwright and examples/chromedp.
func TestCDPExamples(t *testing.T) {
	needChromium(t)
	site := cdpsuite.NewSite(t)
	data := t.TempDir()
	startMCP(t, "--data", data, "--isolated", "--headless", "--prefer", "cdp", "--cdp-listen", "127.0.0.1:0", "--unsafe-enable-eval", "--allow-domain", site.URL)
	run := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		cmd.Stderr = os.Stderr
		if out, err := cmd.Output(); err != nil || string(out) != "One\n" {
			t.Errorf("%q, %v", out, err)
		}
	}
	t.Run("playwright", func(t *testing.T) {
		node := tier.Node(t, "playwright-core")
		dir := t.TempDir()
		modules, err := filepath.Abs("../../tools/node_modules")
		if err != nil {
			t.Fatal(err)
		}
		// In place of npm install.
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS("../../examples/playwright")); err != nil {
			t.Fatal(err)
		}
		run(t, exec.CommandContext(t.Context(), node, filepath.Join(dir, "example.mjs"), cdpURL(t, data), site.URL+"/one.html"))
	})
	t.Run("chromedp", func(t *testing.T) {
		run(t, exec.CommandContext(t.Context(), "go", "run", "../../examples/chromedp", cdpURL(t, data, "--ws"), site.URL+"/one.html"))
	})
}
