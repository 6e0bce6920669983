package ownchrome

import (
	"context"
	"errors"
	"os"
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
