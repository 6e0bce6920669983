package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

// startError explains why the program at path could not be started.
func startError(path string, err error) error {
	const wrongBuild = "Install the browser's build for this machine, or name another one with Options.Browser."
	switch {
	case errors.Is(err, syscall.ENOEXEC), strings.Contains(err.Error(), "not compatible with the version of Windows"):
		return executor.Errorf(executor.ErrLaunchFailed, wrongBuild,
			"browser %s is not a program for this machine (%s/%s)", path, runtime.GOOS, runtime.GOARCH)
	case errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(path); statErr == nil {
			// ErrNotExist refers to the interpreter that the file requires.
			return executor.Errorf(executor.ErrLaunchFailed, wrongBuild,
				"browser %s needs an interpreter or loader that this machine does not have", path)
		}
		return executor.Errorf(executor.ErrLaunchFailed, "", "browser %s does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return executor.Errorf(executor.ErrLaunchFailed, "Make it executable (chmod +x), or name another browser.",
			"browser %s is not executable", path)
	}
	return executor.Errorf(executor.ErrLaunchFailed, "", "browser %s: %w", path, err)
}

// noResponseError is the error for a program that runs but does not respond on its pipe.
func noResponseError(path string, after time.Duration, text string) error {
	return executor.Errorf(executor.ErrLaunchFailed,
		"Is it a Chromium-based browser? Otherwise name another one with Options.Browser.",
		"browser %s did not answer within %s%s", path, after.Round(time.Millisecond), quoted(lastErrorLines(text, 3)))
}

// An exitReport describes a browser that exited unexpectedly.
type exitReport struct {
	path   string
	dir    string // of the profile
	err    error  // of exec.Cmd.Wait
	output string
}

// exitProfileInUse is Chromium's RESULT_CODE_PROFILE_IN_USE.
const exitProfileInUse = 21

// Patterns in the output of Chromium and the loader.
var (
	otherComputer = lazyregexp.New(`in use by another \S+ process \((\d+)\) on another computer \(([^)]*)\)`)
	sharedLibrary = lazyregexp.New(`error while loading shared libraries: ([^:\s]+)`)
)

// explain returns an ErrLaunchFailed that says in one sentence why a browser exited during launch.
// Known causes are recognized in the output. For others, the error contains the exit code and the
// last output of the browser.
func (e *exitReport) explain() error {
	code, how := exitStatus(e.err)
	has := func(s string) bool { return strings.Contains(e.output, s) }
	fail := func(hint, format string, args ...any) error {
		return executor.Errorf(executor.ErrLaunchFailed, hint, format, args...)
	}
	switch {
	case has("Running as root without --no-sandbox"):
		return fail("Run it as another user, or start with Options.NoSandbox.", "Chromium cannot run as root with its sandbox")
	case has("No usable sandbox"):
		return fail("Allow unprivileged user namespaces on this machine (in a container or under AppArmor they are often off), or start with Options.NoSandbox.",
			"the Chromium sandbox is not available on this machine")
	case has("Missing X server or $DISPLAY"), has("cannot open display"), has("Unable to open X display"), has("Failed to connect to Wayland display"):
		return noDisplayError()
	case otherComputer().MatchString(e.output):
		m := otherComputer().FindStringSubmatch(e.output)
		pid, _ := strconv.Atoi(m[1])
		return profiles.OtherHostError(e.dir, m[2], pid)
	case has("Opening in existing browser session"), code == exitProfileInUse:
		_, pid, ok := profiles.Singleton(e.dir)
		if !ok || !profiles.Uses(pid, e.dir) {
			pid = 0
		}
		return profiles.InUseError(e.dir, pid)
	case sharedLibrary().MatchString(e.output):
		return fail("Install the browser with the system's package manager (apt-get install chromium), which brings its libraries.",
			"missing shared library %s", sharedLibrary().FindStringSubmatch(e.output)[1])
	case has("Remote debugging pipe file descriptors are not open"):
		return fail("Name the browser's own program with Options.Browser rather than a wrapper.", "%s does not pass the debugging pipe on to the browser", e.path)
	case has("requires the chromium snap"), has("snap install chromium"):
		return fail("Install a browser that is not a snap, such as https://www.google.com/chrome/.", "%s only points to a snap that is not installed", e.path)
	case has("rosetta error"), has("Exec format error"):
		return fail("Install the browser's build for this machine, or name another one with Options.Browser.",
			"browser %s is not a program for this machine (%s/%s)", e.path, runtime.GOOS, runtime.GOARCH)
	}
	hint := "Is it a Chromium-based browser? Otherwise name another one with Options.Browser."
	printed := lastErrorLines(e.output, 3)
	if len(printed) > 0 {
		hint = ""
	}
	return fail(hint, "browser %s exited during launch, %s%s", e.path, how, quoted(printed))
}

// exitStatus returns the exit code, or -1 if there is none, and a phrase that describes it.
func exitStatus(err error) (code int, phrase string) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0, "with exit code 0"
	case !errors.As(err, &exit):
		return -1, err.Error()
	case exit.ExitCode() < 0:
		return -1, "by " + exit.String() // "signal: killed"
	}
	return exit.ExitCode(), fmt.Sprintf("with exit code %d", exit.ExitCode())
}

// quoted returns the browser's output as the end of a sentence.
func quoted(lines []string) string {
	if len(lines) == 0 {
		return ", and printed nothing"
	}
	return ": " + strings.Join(lines, " | ")
}
