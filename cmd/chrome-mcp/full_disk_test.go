package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// smallDisk mounts a file system in memory until the end of the test, and returns its directory.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	mount := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir)
	if out, err := mount.CombinedOutput(); err != nil {
		t.Skipf("this container may not mount: %s", out)
	}
	t.Cleanup(func() { // processes of a browser that exit may still have files open
		await.Until(t, "the small file system to be unused", func() bool { return exec.Command("umount", dir).Run() == nil })
	})
	return dir
}

// TestFullDisk starts a server where no file can be created.
func TestFullDisk(t *testing.T) {
	data := filepath.Join(smallDisk(t, "size=64k,nr_inodes=3"), "d")
	ctx := await.Context(t)
	for _, args := range [][]string{{"call", "chrome_status"}, {"serve"}} {
		out, err := exec.CommandContext(ctx, binary, append(args, "--data", data)...).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() == 0 || !strings.Contains(string(out), "no space left on device") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// fill creates files until the disk of a directory is full, and returns the function that removes
// them. With size 0, the files are empty and take only inodes, of which it frees some again.
func fill(t *testing.T, dir string, size, inodes int) (free func()) {
	t.Helper()
	var created []string
	for i := 0; ; i++ {
		path := filepath.Join(dir, fmt.Sprint("fill-", i))
		err := os.WriteFile(path, make([]byte, size), 0o600)
		if _, failed := os.Lstat(path); failed == nil {
			created = append(created, path)
		}
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range created[:inodes] {
		os.Remove(path)
	}
	return func() {
		for _, path := range created {
			os.Remove(path)
		}
	}
}

// TestBrowserOnFullDisk launches a browser while there is no space for its profile, and saves a
// result while there is no space for it. Both report the reason and leave nothing, and work when
// there is space again.
func TestBrowserOnFullDisk(t *testing.T) {
	needChromium(t)
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Large</title><pre>%s</pre>", text)
	}))
	defer site.Close()
	for _, tt := range []struct {
		name         string
		size, inodes int // of fill
	}{
		{"no blocks", 64 << 20, 0},
		{"no inode for the lock", 0, 1},
		{"no inode for the preferences", 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.size == 0 {
				tier.Deep(t)
			}
			c := &commandLine{t, filepath.Join(smallDisk(t, "size=32m,nr_inodes=3000"), "d")}
			t.Cleanup(func() {
				if out, err := c.run("serve", "stop"); err != nil {
					t.Errorf("serve stop: %v\n%s", err, out)
				}
				waitGone(t, c.data)
				if left := profiles(t, c.data); len(left) > 0 {
					t.Errorf("the server left %q", left)
				}
			})
			settings := append([]string{"--headless", "--isolated", "--prefer", "cdp", "--allow-domain", site.URL}, rootNeedsNoSandbox()...)
			call := func(args ...string) (string, error) {
				return c.run(append(append([]string{"call"}, args...), settings...)...)
			}
			if out, err := call("chrome_status"); err != nil {
				t.Fatalf("call: %v\n%s", err, out)
			}
			if err := os.Mkdir(filepath.Join(c.data, "tmp"), 0o700); err != nil { // as after an earlier launch
				t.Fatal(err)
			}

			free := fill(t, c.data, tt.size, tt.inodes)
			if out, err := call("navigate", "url="+site.URL); err == nil || !strings.HasPrefix(out, "LAUNCH_FAILED: ") || strings.Count(out, "no space left on device") != 1 {
				t.Errorf("navigate: %v\n%s", err, out)
			}
			if left := profiles(t, c.data); len(left) > 0 {
				t.Errorf("the launch left %q", left)
			}
			free()
			if out, err := call("navigate", "url="+site.URL); err != nil || !strings.Contains(out, "Large") {
				t.Fatalf("navigate with space: %v\n%s", err, out)
			}
			if tt.size == 0 {
				return // the browser creates and removes files at any time
			}

			output := filepath.Join(c.data, "output")
			free = fill(t, c.data, tt.size, tt.inodes)
			if out, err := call("get_html", "file=page"); err == nil || !strings.HasPrefix(out, "DOWNLOAD_FAILED: ") || !strings.Contains(out, "no space left on device") || !strings.Contains(out, "disk is not full") {
				t.Errorf("get_html: %v\n%s", err, out)
			}
			if files := filesIn(t, output); len(files) > 0 {
				t.Errorf("the failed call left %q", files)
			}
			free()
			if out, err := call("get_html", "file=page"); err != nil || !strings.Contains(out, "saved ") {
				t.Errorf("get_html with space: %v\n%s", err, out)
			}
			files := filesIn(t, output)
			if len(files) != 1 {
				t.Fatalf("saved %q", files)
			}
			if saved, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(saved), strings.TrimSpace(text)) {
				t.Errorf("%s has %d bytes, %v", files[0], len(saved), err)
			}
		})
	}
}

// filesIn returns the files in a directory and its subdirectories. The directory may be missing.
func filesIn(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}
