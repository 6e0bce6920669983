package leakcheck

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// RunBrowsers is like Run for tests that start browsers. It also fails if a process, a temporary profile
// or another temporary file is left.
func RunBrowsers(m interface{ Run() int }) (code int) {
	// All files are created in one separate directory, so that leaked ones can be distinguished
	// from those of other programs.
	root, err := os.MkdirTemp("", "chromium-test-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"TMPDIR", "HOME"} {
		os.Setenv(name, root)
	}
	code = Run(m)
	for _, line := range processesNaming(root) {
		fmt.Fprintln(os.Stderr, "leaked process:", line)
		code = 1
	}
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		switch e.Name() {
		case ".config", ".cache", ".local", ".pki", ".dbus": // belong to HOME
			continue
		}
		name := strings.TrimPrefix(e.Name(), ".")
		if files, _ := os.ReadDir(filepath.Join(root, e.Name())); strings.HasPrefix(name, "org.chromium.") && len(files) <= 2 {
			// A Chromium that is killed between creating its socket directory and linking to it
			// from its profile leaves the directory behind. It cannot be assigned to a profile.
			continue
		}
		files, _ := os.ReadDir(filepath.Join(root, e.Name()))
		fmt.Fprintln(os.Stderr, "leaked:", e, files)
		code = 1
	}
	os.RemoveAll(root)
	return code
}

// processesNaming lists the running processes with text in their command line. It waits until there are
// none, because helper processes need time to notice that their browser has exited.
func processesNaming(text string) []string {
	var left []string
	await.Poll(func() bool {
		out, _ := exec.Command("ps", "-eo", "pid=,args=").Output()
		left = nil
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, text) {
				left = append(left, strings.TrimSpace(line))
			}
		}
		return len(left) == 0
	})
	return left
}
