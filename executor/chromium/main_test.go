package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// childEnv makes the test binary a program that launches or attaches to a browser and waits to be
// killed. Its value is the options as JSON.
const childEnv = "CHROMIUM_TEST_LAUNCH"

// TestMain fails if the tests leak a goroutine, a browser or a temporary profile.
func TestMain(m *testing.M) {
	timing.ScaleForTests(tier.HangLimitScale())
	if spec := os.Getenv(childEnv); spec != "" {
		launchAndWait(spec)
		return
	}
	// All files are created in one separate directory, so that leaked ones can be distinguished
	// from those of other programs.
	root, err := os.MkdirTemp("", "chromium-test-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"TMPDIR", "HOME"} {
		os.Setenv(name, root)
	}
	code := leakcheck.Run(m)
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
	os.Exit(code)
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

// launched is what the child prints when its browser has responded.
type launched struct {
	PID int
	Dir string
}

func launchAndWait(spec string) {
	var o Options
	if err := json.Unmarshal([]byte(spec), &o); err != nil {
		panic(err)
	}
	if o.CDPEndpoint != "" {
		if _, err := (sessionProvider{New(o)}).Acquire(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		json.NewEncoder(os.Stdout).Encode(launched{})
		select {}
	}
	p, err := launch(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(launched{PID: p.pid, Dir: p.dir})
	select {}
}
