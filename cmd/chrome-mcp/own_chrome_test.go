package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestLibraryRules runs the test of another module that the extension gets each field of a policy.
func TestLibraryRules(t *testing.T) {
	test := exec.CommandContext(t.Context(), "go", "test", "-run", "^TestRules$", ".")
	test.Dir = "../../examples/own-chrome"
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestOwnChromeExample runs a program of another module that reads a page in the user's own Chrome
// through the extension, with the user's cookies.
func TestOwnChromeExample(t *testing.T) {
	b := newUserBrowser(t)
	program := filepath.Join(t.TempDir(), "own-chrome")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../../examples/own-chrome"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "user", Value: "Ada", Path: "/"})
		}
		name := "nobody"
		if c, err := r.Cookie("user"); err == nil {
			name = c.Value
		}
		fmt.Fprintf(w, "<title>Account</title><main><h1>Account</h1><p>Logged in as %s</p></main>", name)
	}))
	defer site.Close()

	data := filepath.Join(b.root, "data")
	b.register(t, data)
	b.open()
	b.NewTab(t, site.URL+"/login")
	cmd := exec.CommandContext(await.Context(t), program, "-data", data, site.URL+"/account")
	cmd.Env = b.environ()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "Logged in as Ada") {
		t.Errorf("%v\n%s", err, out)
	}
}
