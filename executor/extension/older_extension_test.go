package extension

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// olderCommit is a commit whose extension has protocol version 1.
const olderCommit = "5f91b29694ee430727567ac4f4ad33a563dd8ef3"

// TestLongOlderExtension runs the extension of protocol version 1 in a Chromium. Its button and the calls
// of agents report that it is older, and how to update it.
func TestLongOlderExtension(t *testing.T) {
	tier.Deep(t)
	archive, err := exec.Command("git", "-C", "../..", "archive", olderCommit, "extension").Output()
	if err != nil {
		t.Skipf("this clone does not have the history up to %s (git fetch --unshallow): %v", olderCommit, err)
	}
	server, u := startRealUser(t, func(dir string) { replaceExtension(t, dir, archive) })
	b := newBackend(t, server)
	await.Until(t, "the extension to try to connect", func() bool { return server.Mismatch() != nil })
	wantOlder(t, b)
	await.Until(t, "the title of the button", func() bool {
		var title string
		u.worker("chrome.action.getTitle({})", &title)
		return strings.Contains(title, "update chrome-mcp and reload the extension")
	})
}

// replaceExtension replaces the extension in dir by that in an archive of the repository.
func replaceExtension(t *testing.T, dir string, archive []byte) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		file, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name, found := strings.CutPrefix(file.Name, "extension/")
		if file.Typeflag != tar.TypeReg || !found {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
