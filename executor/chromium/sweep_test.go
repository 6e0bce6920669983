package chromium

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A server is another process that launched a browser and owns it.
type server struct {
	cmd *exec.Cmd
	launched
}

// startServer runs this test binary as a program that launches a browser.
func startServer(t *testing.T, o Options) *server {
	t.Helper()
	tier.Browser(t)
	if _, err := Find(o.Browser); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	spec, err := json.Marshal(struct {
		Options
		CDPHeaders  any `json:"CDPHeaders,omitempty"`  // a function has no JSON
		Browserless any `json:"Browserless,omitempty"` // has one
	}{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	if err := json.NewDecoder(out).Decode(&s.launched); err != nil {
		t.Fatalf("the child launched nothing: %v", err)
	}
	return s
}

// kill kills the server, so that it cannot clean up.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// awaitNoUsers waits until all processes on the profile in dir have exited.
func awaitNoUsers(t *testing.T, dir string) {
	t.Helper()
	await.Until(t, "the exit of all processes on "+dir, func() bool { return len(profiles.Users(dir)) == 0 })
}

func TestSIGKILLCleansUp(t *testing.T) {
	o := fullOptions(t)
	o.Isolated = true
	s := startServer(t, o)
	if !slices.Contains(profiles.Users(s.Dir), s.PID) {
		t.Fatalf("processes on %s: %v, want the browser %d", s.Dir, profiles.Users(s.Dir), s.PID)
	}
	s.kill()
	awaitNoUsers(t, s.Dir)
	if !exists(s.Dir) {
		t.Fatal("the profile was already removed, so the rest of the test proves nothing")
	}

	p := mustLaunch(t, o) // the next launch
	<-p.Swept             // its sweep runs concurrently
	if exists(s.Dir) {
		t.Error("the next launch did not remove the temporary profile of the killed server")
	}
	if !exists(p.Profile.Dir) {
		t.Error("the sweep removed the profile in use")
	}
}

// TestClosedPipeEndsBrowser checks that a browser exits when its pipe is closed, without the signal
// that Linux also sends: other systems have only the pipe.
func TestClosedPipeEndsBrowser(t *testing.T) {
	t.Setenv("LAMBDA_TASK_ROOT", "/") // disables Pdeathsig
	o := fullOptions(t)
	o.Isolated = true
	s := startServer(t, o)
	s.kill()
	awaitNoUsers(t, s.Dir)
	swept, err := Sweep(t.Context(), o.DataDir)
	if err != nil || !slices.Equal(swept.Profiles, []string{s.Dir}) || exists(s.Dir) {
		t.Errorf("Sweep = %+v, %v; exists: %v", swept, err, exists(s.Dir))
	}
}

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T")
}

// stopAndOrphan makes a browser outlive its server. A stopped browser cannot notice that its pipe
// is closed.
func stopAndOrphan(t *testing.T, s *server) {
	t.Helper()
	t.Cleanup(func() {
		profiles.KillUsers(context.Background(), s.Dir)
	})
	// A browser responds slightly before it has locked its profile. The link to its socket is
	// created last.
	await.Until(t, "the browser to lock its profile", func() bool { return exists(filepath.Join(s.Dir, "SingletonSocket")) })
	if err := stopProcess(s.PID); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "all threads of the browser to stop", func() bool { return stopped(s.PID) })
	s.kill()
	if !profiles.Uses(s.PID, s.Dir) {
		t.Fatal("the browser did not outlive its server, so the rest of the test proves nothing")
	}
}

func TestOrphanOnNamedProfile(t *testing.T) {
	t.Run("terminated by the next launch", func(t *testing.T) {
		o := fullOptions(t)
		s := startServer(t, o)
		stopAndOrphan(t, s)
		t.Setenv("TEST_TIMING", "shipped") // a stopped browser does not exit until a hang limit has passed
		next := startServer(t, o)
		if next.Dir != s.Dir {
			t.Fatalf("profile is %s, was %s", next.Dir, s.Dir)
		}
		if slices.Contains(profiles.Users(s.Dir), s.PID) {
			t.Error("the orphan is still running")
		}
		next.kill()
		awaitNoUsers(t, next.Dir)
	})
	t.Run("terminated by Sweep", func(t *testing.T) {
		tier.Deep(t) // the same code; the wait for a stopped browser to exit takes its hang limit
		o := fullOptions(t)
		s := startServer(t, o)
		stopAndOrphan(t, s)
		swept, err := Sweep(t.Context(), o.DataDir)
		if err != nil || !slices.Equal(swept.Browsers, []int{s.PID}) {
			t.Errorf("Sweep = %+v, %v, want browser %d", swept, err, s.PID)
		}
		if !exists(s.Dir) {
			t.Error("a named profile was removed")
		}
	})
	t.Run("not terminated if the record is of another process", func(t *testing.T) {
		o := fullOptions(t)
		s := startServer(t, o)
		stopAndOrphan(t, s)
		// As if the process id had been reused.
		record := fmt.Appendf(nil, `{"owner":{"pid":%d,"start":"x"},"browser":{"pid":%d,"start":"x"}}`, 1<<22, s.PID)
		if err := os.WriteFile(filepath.Join(s.Dir, "chrome-mcp.lock"), record, 0o600); err != nil {
			t.Fatal(err)
		}
		if swept, err := Sweep(t.Context(), o.DataDir); err != nil || len(swept.Browsers) > 0 {
			t.Errorf("Sweep = %+v, %v", swept, err)
		}
		_, err := launchBrowser(t.Context(), o)
		if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", s.PID)) {
			t.Errorf("launch: %v", err)
		}
		if !profiles.Uses(s.PID, s.Dir) {
			t.Error("a browser that is not known to be ours was terminated")
		}
	})
}

func TestConcurrentServersAreIndependent(t *testing.T) {
	o := fullOptions(t)
	s := startServer(t, o)
	_, err := launchBrowser(t.Context(), o)
	if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", s.cmd.Process.Pid)) {
		t.Fatalf("second server on one profile: %v", err)
	}
	o.Isolated = true
	temp := startServer(t, o)
	p := mustLaunch(t, o)
	<-p.Swept
	if swept, err := Sweep(t.Context(), o.DataDir); err != nil || len(swept.Profiles)+len(swept.Browsers) > 0 {
		t.Errorf("Sweep = %+v, %v while all are in use", swept, err)
	}
	for _, other := range []*server{s, temp} {
		if !profiles.Uses(other.PID, other.Dir) || !exists(other.Dir) {
			t.Errorf("the browser of server %d exited", other.cmd.Process.Pid)
		}
		other.kill()
		awaitNoUsers(t, other.Dir)
	}
	profiles.KillUsers(t.Context(), s.Dir) // removes the socket, as the next launch on this profile would
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(t.Context(), o.DataDir); err != nil || exists(temp.Dir) || !exists(s.Dir) {
		t.Errorf("after closing: %v, temporary profile exists: %v, named profile exists: %v", err, exists(temp.Dir), exists(s.Dir))
	}
}
