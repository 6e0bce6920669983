package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCopyIsFresh: the extension speaks what this package declares.
func TestCopyIsFresh(t *testing.T) {
	want, err := render("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", target))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("extension/wire.js is stale: run go generate ./internal/wire")
	}
}
