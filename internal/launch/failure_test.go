package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// fakeBrowser writes a shell script that acts as a browser.
func fakeBrowser(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake-browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantFailure checks that err is an ErrLaunchFailed with these parts in its message and its hint,
// and that no directory is left in dataDir.
func wantFailure(t *testing.T, dataDir string, err error, message, hint string) {
	t.Helper()
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || e.Code != executor.ErrLaunchFailed {
		t.Fatalf("error is %v, want LAUNCH_FAILED", err)
	}
	if !strings.Contains(e.Message(), message) {
		t.Errorf("message %q lacks %q", e.Message(), message)
	}
	if !strings.Contains(e.Hint, hint) {
		t.Errorf("hint %q lacks %q", e.Hint, hint)
	}
	if left, _ := os.ReadDir(filepath.Join(dataDir, "tmp")); len(left) > 0 {
		t.Errorf("temporary profile %s is left", left[0].Name())
	}
}

func TestFailureSentences(t *testing.T) {
	const wrapper = `echo "/usr/bin/chromium: 9: [: 25276514304: unexpected operator" >&2; `
	for _, c := range []struct {
		name, script, message, hint string
	}{
		{"root", wrapper + `echo "[1:1:1121/140858.188251:ERROR:content/browser/zygote_host/zygote_host_impl_linux.cc:103] Running as root without --no-sandbox is not supported. See https://crbug.com/638180." >&2; exit 1`,
			"cannot run as root", "Options.NoSandbox"},
		{"sandbox", `echo "[1:1:FATAL:x.cc] No usable sandbox! If you are running on Ubuntu 23.10+" >&2; exit 133`, "sandbox is not available", "user namespaces"},
		{"display", wrapper + `echo "[1:1:1121/140858.649477:ERROR:ui/ozone/x.cc:257] Missing X server or \$DISPLAY" >&2; exit 1`,
			"requires a display", "Options.Headless"},
		{"headed profile", `echo "Opening in existing browser session."; exit 0`, "is in use by another browser", "Options.Isolated"},
		{"headless profile", wrapper + `exit 21`, "is in use by another browser", "Options.Isolated"},
		{"other machine", `echo "[1:1:ERROR:p.cc:3] The profile appears to be in use by another Chromium process (4242) on another computer (otherhost). Chromium has" >&2; exit 21`,
			"process 4242 on another machine, otherhost", "SingletonLock"},
		{"library", `echo "$0: error while loading shared libraries: libnss3.so: cannot open shared object file" >&2; exit 127`, "shared library libnss3.so", "apt-get"},
		{"wrapper", `echo "[1:ERROR:x.cc:1] Remote debugging pipe file descriptors are not open." >&2; exit 13`, "does not pass the debugging pipe", "Options.Browser"},
		{"snap", `echo "Command '/usr/bin/chromium-browser' requires the chromium snap to be installed." >&2; exit 1`, "a snap", "not a snap"},
		{"error output", wrapper + `echo "[1:1:1121/1.2:ERROR:a.cc:1] disk is full" >&2; exit 7`, "exited during launch, with exit code 7: disk is full", ""},
		{"no output", wrapper + `exit 3`, "with exit code 3, and printed nothing", "Chromium-based"},
		{"signal", `kill -SEGV $$`, "signal: segmentation fault", "Chromium-based"},
		{"true", `exit 0`, "exited during launch, with exit code 0", "Chromium-based"},
		{"closes its pipe", `exec 3<&- 4>&-; echo bye >&2; exit 5`, "with exit code 5: bye", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(t)
			o.Browser = fakeBrowser(t, c.script)
			_, err := Start(t.Context(), o)
			wantFailure(t, o.DataDir, err, c.message, c.hint)
		})
	}
}

func TestLaunchOfNonBrowserTimesOut(t *testing.T) {
	o := testOptions(t)
	// A child process also keeps the pipe and the output open.
	o.Browser = fakeBrowser(t, "echo hello >&2; sleep 600 & sleep 600")
	o.Timing.Launch = 300 * time.Millisecond
	_, err := Start(t.Context(), o)
	for err != nil && !strings.Contains(err.Error(), "hello") && o.Timing.Launch < await.HangLimit { // it had no time to print that
		o.Timing.Launch *= 2
		_, err = Start(t.Context(), o)
	}
	wantFailure(t, o.DataDir, err, fmt.Sprintf("did not answer within %v: hello", o.Timing.Launch), "Chromium-based")
	if out, _ := exec.Command("ps", "-eo", "stat=,args=").Output(); strings.Contains(string(out), o.DataDir) {
		t.Errorf("processes are left:\n%s", out)
	}
}

func TestCancelledLaunch(t *testing.T) {
	o := testOptions(t)
	ready := filepath.Join(t.TempDir(), "ready")
	o.Browser = fakeBrowser(t, "touch "+ready+"; exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	launched := make(chan error, 1)
	go func() {
		_, err := Start(ctx, o)
		launched <- err
	}()
	await.Until(t, "the start of the browser", func() bool { return exists(ready) })
	cancel()
	err := await.Receive(t, "the canceled launch", launched)
	if !errors.Is(err, context.Canceled) || executor.CodeOf(err) != executor.ErrTimeout {
		t.Errorf("canceled launch: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(o.DataDir, "tmp")); len(left) > 0 {
		t.Errorf("temporary profile %s is left", left[0].Name())
	}
}

func TestFindRejectsNonExecutables(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, path, message string }{
		{"missing", filepath.Join(dir, "nothing"), "does not exist"},
		{"directory", dir, "is a directory"},
		{"not executable", write("plain", "#!/bin/sh\n", 0o644), "is not executable"},
		// An ELF header without the rest of the program results in the same error as a program for
		// another CPU.
		{"not for this machine", write("foreign", "\x7fELF\x02\x01\x01", 0o755), "not a program for this machine"},
		{"no interpreter", write("script", "#!/no/such/shell\n", 0o755), "interpreter or loader"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions(t)
			o.Browser = c.path
			_, err := Start(t.Context(), o)
			wantFailure(t, o.DataDir, err, c.message, "")
		})
	}
}

func TestRealChromiumAsRootWithoutNoSandbox(t *testing.T) {
	tier.Browser(t)
	if os.Getuid() != 0 {
		t.Skip("requires root")
	}
	o := testOptions(t)
	o.NoSandbox = false
	_, err := Start(t.Context(), o)
	wantFailure(t, o.DataDir, err, "cannot run as root", "Options.NoSandbox")
}

func TestRealChromiumWithoutDisplay(t *testing.T) {
	tier.Browser(t)
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	o := testOptions(t)
	headed := false
	o.Headless = &headed
	_, err := Start(t.Context(), o)
	wantFailure(t, o.DataDir, err, "requires a display", "Options.Headless")

	// Chromium itself detects that a display does not respond.
	t.Setenv("DISPLAY", ":97")
	_, err = Start(t.Context(), o)
	wantFailure(t, o.DataDir, err, "requires a display", "Options.Headless")

	o.Headless = nil
	t.Setenv("DISPLAY", "")
	if p := mustLaunch(t, o); !p.Headless {
		t.Error("headed without a display")
	}
}

func TestRealChromiumUnderForeignLock(t *testing.T) {
	tier.Browser(t)
	o := testOptions(t)
	o.Profile = "default"
	dir := filepath.Join(o.DataDir, "profiles", "default")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dir, "SingletonLock")
	if err := os.Symlink("other-host-4242", lock); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	wantFailure(t, o.DataDir, err, "process 4242 on another machine, other-host", lock)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	mustLaunch(t, o) // the hint works, and the failed launch left no lock
}

func TestOutputKeepsTheEnd(t *testing.T) {
	var o output
	long := strings.Repeat("x", maxOutput)
	for _, s := range []string{"first\n", long, "last\n"} {
		if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	got := o.String()
	if len(got) != maxOutput || !strings.HasSuffix(got, "xlast\n") || strings.Contains(got, "first") {
		t.Errorf("%d bytes stored, ending in %q", len(got), got[max(0, len(got)-10):])
	}
	if n, _ := o.Write([]byte(long + "tail")); n != maxOutput+4 || !strings.HasSuffix(o.String(), "tail") {
		t.Errorf("a long write counts %d and ends in %q", n, o.String()[maxOutput-6:])
	}
}
