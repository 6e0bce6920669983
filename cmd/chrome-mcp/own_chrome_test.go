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

const ownChromeDir = "../../examples/own-chrome"

// ownChrome runs the go command in the module of examples/own-chrome, in a workspace with this one, so that the
// packages of this one that are compiled are used.
func ownChrome(t *testing.T, args ...string) {
	t.Helper()
	workspace := filepath.Join(t.TempDir(), "go.work")
	module, err := filepath.Abs(ownChromeDir)
	if err == nil {
		root := filepath.Dir(filepath.Dir(module))
		err = os.WriteFile(workspace, fmt.Appendf(nil, "go 1.26.0\n\nuse (\n\t%q\n\t%q\n)\n", root, module), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	goInOwnChrome(t, workspace, args...)
}

func goInOwnChrome(t *testing.T, workspace string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = ownChromeDir, append(os.Environ(), "GOWORK="+workspace)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %q: %v\n%s", args, err, out)
	}
}

// TestLibraryRules runs the test of another module that the extension gets each field of a policy. The go.mod
// file of that module is complete.
func TestLibraryRules(t *testing.T) {
	goInOwnChrome(t, "off", "list", "-deps", "-test", ".")
	ownChrome(t, "test", "-run", "^TestRules$", ".")
}

// TestOwnChromeExample runs a program of another module that reads a page in the user's own Chrome
// through the extension, with the user's cookies.
func TestOwnChromeExample(t *testing.T) {
	b, data := sharedUserBrowser(t)
	program := filepath.Join(t.TempDir(), "own-chrome")
	ownChrome(t, "build", "-o", program, ".")
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

	b.NewTab(t, site.URL+"/login")
	cmd := exec.CommandContext(await.Context(t), program, "-data", data, site.URL+"/account")
	cmd.Env = b.environ()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "Logged in as Ada") {
		t.Errorf("%v\n%s", err, out)
	}
}
