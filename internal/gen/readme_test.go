package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadmeIsFilledIn(t *testing.T) {
	const readme = "../../docs/library.md"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(marked.FindAllString(string(text), -1)); n == 0 || n != strings.Count(string(text), "<!-- code:begin") {
		t.Fatalf("%d of %d markers are well formed", n, strings.Count(string(text), "<!-- code:begin"))
	}
	filled, err := fill(string(text), filepath.Dir(readme))
	if err != nil {
		t.Fatal(err)
	}
	if filled != string(text) {
		t.Error("the code of docs/library.md is not that of the examples: run make generate")
	}
}

func TestFill(t *testing.T) {
	dir := t.TempDir()
	const code = "package p\n\n// F does it.\nfunc F() {\n\tg()\n}\n\nfunc g() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := fill("a\n<!-- code:begin p.go F -->\nold\n<!-- code:end -->\nb", dir)
	want := "a\n<!-- code:begin p.go F -->\n```go\n// F does it.\nfunc F() {\n\tg()\n}\n```\n<!-- code:end -->\nb"
	if err != nil || got != want {
		t.Errorf("fill: %q, %v; want %q", got, err, want)
	}
	again, err := fill(got, dir)
	if err != nil || again != got {
		t.Errorf("filling twice changes it: %q, %v", again, err)
	}
	if _, err := fill("<!-- code:begin p.go H -->\n<!-- code:end -->", dir); err == nil {
		t.Error("no error for a func that is not there")
	}
}
