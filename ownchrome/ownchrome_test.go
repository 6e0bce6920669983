package ownchrome

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
)

func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }

// TestOpenWithoutExtension checks that Open returns the reason why no extension is connected, and leaves
// nothing behind.
func TestOpenWithoutExtension(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, &Options{DataDir: t.TempDir()})
	if e, ok := errors.AsType[*executor.Error](err); !ok || e.Code != executor.ErrNoBackend || e.Hint == "" {
		t.Errorf("%+v", err)
	}
}

// TestOpenWithoutDirectory checks that Open returns an error if the data directory cannot be created, and
// leaves nothing behind.
func TestOpenWithoutDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), &Options{DataDir: filepath.Join(file, "data")}); err == nil {
		t.Error("Open succeeded")
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the file: %v, %v", info, err)
	}
}
