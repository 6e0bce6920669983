package main

import (
	"bytes"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

func TestRun(t *testing.T) {
	userbrowser.Find(t)
	dir := t.TempDir()
	server := filepath.Join(dir, "chrome-mcp")
	if out, err := exec.Command("go", "build", "-o", server, "../../cmd/chrome-mcp").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out strings.Builder
	picture := filepath.Join(dir, "demo.png")
	if err := run(await.Context(t), &out, server, []string{"--headless", "--data", filepath.Join(dir, "data")}, picture); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"fill_form", "handle_dialog", "Thank you, Ada Lovelace", "LO-1001", "The shop received the order."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q not found in the output:\n%s", want, &out)
		}
	}
	data, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || config.Width != 1280 || config.Height != 720 {
		t.Errorf("the screenshot is %dx%d, %v; want 1280x720", config.Width, config.Height, err)
	}
}
