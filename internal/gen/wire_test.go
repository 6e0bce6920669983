package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestWireIsFresh checks that the extension declares the same protocol.
func TestWireIsFresh(t *testing.T) {
	want, err := render(filepath.Join("..", "wire"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "extension", "wire.js"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("extension/wire.js is stale: run go generate ./internal/wire")
	}
}
