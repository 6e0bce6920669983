package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// writeConfig writes a configuration file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantUsage checks that err is a *cli.UsageError with a text.
func wantUsage(t *testing.T, err error, text string) {
	t.Helper()
	usage, ok := errors.AsType[*cli.UsageError](err)
	if !ok || !strings.Contains(usage.Error()+"\n"+usage.Hint, text) {
		t.Errorf("error %v, want %s", err, text)
	}
}

// namedBrowsersConfig names a browser of each type.
const namedBrowsersConfig = `{"browsers": {
	"work": {"type": "managed", "profile": "work", "color": "#1a73e8"},
	"test": {"type": "managed"}, // with a temporary profile
	"own": {"type": "extension"},
	"far": {"type": "endpoint", "url": "http://127.0.0.1:9222"},
	"fleet": {"type": "browserless", "urls": ["ws://a/chromium", /* second */ "ws://b/chromium",], "token-env": "FLEET", "launch": {"args": ["--lang=de"]}},
}}`
