package cdpendpoint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
)

// TestCDPFile checks that the file of an endpoint is private, that files of processes that do not
// run are ignored and deleted, and that nothing else is.
func TestCDPFile(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	file, err := writeFile(data, 4711, "http://127.0.0.1:4711/secret")
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{file.Path(): 0o600, filepath.Dir(file.Path()): 0o700} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	want := func(what string, urls ...string) {
		t.Helper()
		var got []string
		for _, r := range Running(data) {
			got = append(got, r.URL)
		}
		if !slices.Equal(got, urls) {
			t.Errorf("%s: %q, want %q", what, got, urls)
		}
	}
	want("one process", "http://127.0.0.1:4711/secret")

	put := func(name string, r Record) {
		t.Helper()
		text, err := json.Marshal(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(filepath.Dir(file.Path()), name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	child := exec.Command(os.Args[0], "-test.run=^TestCDPFileChild$")
	child.Env = append(os.Environ(), "CDP_FILE_CHILD=1")
	stdin, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	process, err := processid.Of(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(filePath(data, child.Process.Pid))
	put(name, Record{child.Process.Pid, process, 4712, "http://127.0.0.1:4712/newer", time.Now().Add(time.Second)})
	put("1.txt", Record{child.Process.Pid, process, 4713, "http://127.0.0.1:4713/other-name", time.Now()})
	if err := os.WriteFile(filepath.Join(filepath.Dir(file.Path()), "junk.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("two processes", "http://127.0.0.1:4712/newer", "http://127.0.0.1:4711/secret")
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filePath(data, child.Process.Pid), 0o644); err != nil {
			t.Fatal(err)
		}
		want("a file that others can read", "http://127.0.0.1:4711/secret")
		if err := os.Chmod(filePath(data, child.Process.Pid), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(name, Record{child.Process.Pid, "another process", 4712, "http://127.0.0.1:4712/newer", time.Now()})
	want("another process with the same PID", "http://127.0.0.1:4711/secret")
	stdin.Close()
	child.Wait()
	put(name, Record{child.Process.Pid, process, 4712, "http://127.0.0.1:4712/newer", time.Now()})
	want("the process has exited", "http://127.0.0.1:4711/secret")
	second, err := writeFile(data, 4714, "http://127.0.0.1:4714/next")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filePath(data, child.Process.Pid)); err == nil {
		t.Error("the file of the process that has exited still exists")
	}
	file.Remove() // was replaced
	want("the first file was replaced", "http://127.0.0.1:4714/next")
	second.Remove()
	want("the end")
	if _, err := os.Lstat(filepath.Join(filepath.Dir(file.Path()), "junk.json")); err != nil {
		t.Error(err)
	}
}

// TestCDPFileChild is a process of TestCDPFile.
func TestCDPFileChild(t *testing.T) {
	if os.Getenv("CDP_FILE_CHILD") != "" {
		os.Stdin.Read(make([]byte, 1))
	}
}
