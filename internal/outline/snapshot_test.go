package outline_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// refs returns a function that mints e1, e2, … in the order of rendering.
func refs() func(*outline.Node) string {
	known := map[*outline.Node]string{}
	return func(n *outline.Node) string {
		if known[n] == "" {
			known[n] = fmt.Sprintf("e%d", len(known)+1)
		}
		return known[n]
	}
}

// outlineOf takes a snapshot of the page in tab.
func outlineOf(p *tab) *outline.Document {
	p.t.Helper()
	var raw json.RawMessage
	p.js("snapshot", &raw, map[string]any{})
	doc, err := outline.Decode(raw, "d")
	if err != nil {
		p.t.Fatal(err)
	}
	return doc
}

// TestSnapshotGoldens takes a snapshot of every page of testdata/pages in Chromium.
func TestSnapshotGoldens(t *testing.T) {
	srv := httptest.NewServer(http.FileServer(http.Dir("testdata/pages")))
	defer srv.Close()
	pages, _ := filepath.Glob("testdata/pages/*.html")
	if len(pages) == 0 {
		t.Fatal("test pages not found")
	}
	b := startBrowser(t)
	for _, page := range pages {
		name := filepath.Base(page)
		t.Run(strings.TrimSuffix(name, ".html"), func(t *testing.T) {
			p := b.newTab(t, srv.URL+"/"+name)
			doc := outlineOf(p)
			doc.URL = strings.Replace(doc.URL, srv.URL, "http://test", 1)
			res, err := outline.Render(doc, outline.Options{RefOf: refs()})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(page, ".html")+".txt", res.Text)
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n%s", path, got)
	}
}
