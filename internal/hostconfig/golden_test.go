package hostconfig

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var testEntry = Entry{Command: "/usr/local/bin/chrome-mcp", Args: []string{"--allow-domain", "example.com"}}

// hostNamed returns a host of the table.
func hostNamed(t testing.TB, name string) *Host {
	t.Helper()
	for _, h := range Hosts() {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("no host %q", name)
	return nil
}

// place writes text to the user's configuration of a host in a temporary home directory.
func place(t testing.TB, h *Host, text []byte) Location {
	t.Helper()
	at := h.User(Environment{OS: "linux", Home: t.TempDir(), Getenv: func(string) string { return "" }})
	if text != nil {
		if err := os.MkdirAll(filepath.Dir(at.File()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at.File(), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// TestGolden adds the entry to the configurations in testdata, adds it again, and removes it. The
// name of a file begins with that of a host.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			host, _, _ := strings.Cut(name, "_")
			h := hostNamed(t, host)
			at := place(t, h, archive.Files[0].Data)
			var got []byte
			write := func(change *Change, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := change.Write(); err != nil {
					t.Fatal(err)
				}
				if got, err = os.ReadFile(at.File()); err != nil {
					t.Fatal(err)
				}
			}
			compare := func(i int, name string) {
				t.Helper()
				if *update {
					archive.Files = append(archive.Files[:i], txtar.File{Name: name, Data: got})
					return
				}
				if want := archive.Files[i].Data; string(got) != string(want) {
					t.Errorf("%s", diff.Diff("want "+name, want, "got "+name, got))
				}
			}
			write(h.Change(at, &testEntry))
			compare(1, "after")
			if again, err := h.Change(at, &testEntry); err != nil || !again.Empty() || again.Diff() != "" {
				t.Errorf("a second time: %v, %v", again, err)
			}
			write(h.Change(at, nil))
			compare(2, "removed")
			if again, err := h.Change(at, nil); err != nil || !again.Empty() {
				t.Errorf("removed a second time: %v, %v", again, err)
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
