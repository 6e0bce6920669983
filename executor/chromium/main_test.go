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
	"time"

	"go.uber.org/goleak"
)

// childEnv makes the test binary a program that launches or attaches to a browser and waits
// to be killed. It holds the options, as JSON.
const childEnv = "CHROMIUM_TEST_LAUNCH"

// TestMain fails when the tests leave a goroutine, a browser or a temporary
// profile behind.
func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		launchAndWait(spec)
		return
	}
	// Everything is made below one folder of our own, so that whatever is left
	// can be told from what belongs to others.
	root, err := os.MkdirTemp("", "chromium-test-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"TMPDIR", "HOME"} {
		os.Setenv(name, root)
	}
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "leaked goroutines:", err)
		code = 1
	}
	for _, line := range processesNaming(root) {
		fmt.Fprintln(os.Stderr, "leaked process:", line)
		code = 1
	}
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		switch e.Name() {
		case ".config", ".cache", ".local", ".pki", ".dbus": // of the user that HOME stands for
			continue
		}
		name := strings.TrimPrefix(e.Name(), ".")
		if files, _ := os.ReadDir(filepath.Join(root, e.Name())); strings.HasPrefix(name, "org.chromium.") && len(files) <= 2 {
			// A Chromium that is killed after it made the folder of its socket and
			// before its profile names it leaves it, and nothing tells whose it is.
			continue
		}
		fmt.Fprintln(os.Stderr, "leaked folder:", e.Name())
		code = 1
	}
	os.RemoveAll(root)
	os.Exit(code)
}

// processesNaming lists the living processes with text in their command line.
// Helpers may take a moment to see that their browser is gone.
func processesNaming(text string) []string {
	var left []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		out, _ := exec.Command("ps", "-eo", "pid=,args=").Output()
		left = nil
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, text) {
				left = append(left, strings.TrimSpace(line))
			}
		}
		if len(left) == 0 {
			break
		}
	}
	return left
}

// launched is what the child prints once its browser answers.
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
		if _, err := (host{New(o)}).Acquire(context.Background()); err != nil {
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
