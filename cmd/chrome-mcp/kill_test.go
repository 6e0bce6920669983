package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestSIGKILLLeavesNoBrowser kills the server. Its Chromium exits, and the next start removes the
// temporary profile.
func TestSIGKILLLeavesNoBrowser(t *testing.T) {
	needChromium(t)
	address := openShop(t)
	data := t.TempDir()

	server := startServer(t, data, address)
	server.navigate(address)
	left := profiles(t, data)
	if len(left) != 1 {
		t.Fatalf("temporary profiles of the running server: %q, want one", left)
	}
	if len(processesWith(t, data)) < 2 { // the server's own command line also matches
		t.Fatal("Chromium process not found while it runs: the test searches for the wrong text")
	}
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.cmd.Wait()
	waitGone(t, data)
	if got := profiles(t, data); len(got) != 1 {
		t.Logf("the temporary profile was already removed: %q", got)
	}

	next := startServer(t, data, address)
	next.navigate(address)
	for _, profile := range profiles(t, data) {
		if profile == left[0] {
			t.Errorf("the next start left %s", profile)
		}
	}
	next.stdin.Close()
	if err := next.cmd.Wait(); err != nil {
		t.Errorf("the next server: %v", err)
	}
	waitGone(t, data)
	if got := profiles(t, data); len(got) > 0 {
		t.Errorf("a server that ended left %q", got)
	}
}

// TestClosedStdout checks that a host that reads no more does not end the program by a signal: it
// still closes its browser and removes its profile.
func TestClosedStdout(t *testing.T) {
	needChromium(t)
	address := openShop(t)
	data := t.TempDir()
	server := startServer(t, data, address)
	server.navigate(address)
	server.stdout.Close()
	fmt.Fprintln(server.stdin, `{"jsonrpc":"2.0","id":3,"method":"ping"}`) // the response cannot be written
	server.stdin.Close()
	server.cmd.Wait()
	if server.cmd.ProcessState.ExitCode() < 0 {
		t.Errorf("the program ended by a signal: %v", server.cmd.ProcessState)
	}
	waitGone(t, data)
	if got := profiles(t, data); len(got) > 0 {
		t.Errorf("the program left %q", got)
	}
}

// TestLongExitTime measures the time from the end of stdin, or a signal, to the exit of the program and
// its browser during a call whose page does not respond, with the hang limits of users.
func TestLongExitTime(t *testing.T) {
	tier.Deep(t)
	needChromium(t)
	const limit = 3 * time.Second // MCP hosts kill a server after two to five seconds
	program := filepath.Join(t.TempDir(), "chrome-mcp")
	if err := build(program, ""); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []bool{false, true} {
		t.Run(fmt.Sprintf("signal=%v", signal), func(t *testing.T) {
			site, data := newTestSite(t), t.TempDir()
			args := append(rootNeedsNoSandbox(), "--data", data, "--prefer=cdp", "--headless", "--isolated", "--allow-domain", site.URL)
			s := startCommand(t, nil, nil, exec.Command(program, args...))
			go s.try(t.Context(), "navigate", map[string]any{"url": site.URL + "/slow"})
			site.reached(t)
			begin := time.Now()
			if signal {
				s.cmd.Process.Signal(syscall.SIGTERM)
			} else {
				s.stdin.Close()
			}
			if err := s.cmd.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
			waitGone(t, data)
			if took := time.Since(begin); took > limit {
				t.Errorf("the end took %v, more than %v", took, limit)
			}
		})
	}
}

// A runningServer is the built program with an initialized MCP session.
type runningServer struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin interface {
		Write([]byte) (int, error)
		Close() error
	}
	stdout io.Closer
	out    *bufio.Scanner
}

func startServer(t *testing.T, data, address string) *runningServer {
	t.Helper()
	args := append([]string{"--headless", "--isolated", "--data", data, "--allow-domain", address}, rootNeedsNoSandbox()...)
	s := &runningServer{t: t, cmd: exec.Command(binary, args...)}
	s.cmd.Stderr = os.Stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	s.stdin, s.stdout, s.out = stdin, stdout, bufio.NewScanner(stdout)
	s.out.Buffer(nil, 1<<20)
	s.request(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, `"chrome-mcp"`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *runningServer) request(line, want string) {
	s.t.Helper()
	fmt.Fprintln(s.stdin, line)
	for s.out.Scan() {
		response, err := checkRPC(s.out.Text())
		if err != nil {
			s.t.Fatal(err)
		}
		if response {
			if !strings.Contains(s.out.Text(), want) {
				s.t.Fatalf("%s\nanswered %s\nwant %s", line, s.out.Text(), want)
			}
			return
		}
	}
	s.t.Fatalf("%s: the server exited: %v", line, s.out.Err())
}

func (s *runningServer) navigate(url string) {
	s.t.Helper()
	s.request(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"navigate","arguments":{"url":%q}}}`, url), "Walnut")
}

// profiles lists the temporary profiles in the data directory.
func profiles(t *testing.T, data string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(data, "tmp", "profile-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// processesWith lists the processes whose command line contains text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	all, err := process.Processes()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range all {
		if line, err := p.Cmdline(); err == nil && strings.Contains(line, text) {
			found = append(found, fmt.Sprintf("%d %s", p.Pid, line))
		}
	}
	return found
}

// waitGone waits until no process has text on its command line.
func waitGone(t *testing.T, text string) {
	t.Helper()
	waitProcesses(t, text, 0)
}

// waitProcesses waits until at most n processes have text in their command line. It polls, because
// the processes are not children of the test.
func waitProcesses(t *testing.T, text string, n int) {
	t.Helper()
	var found []string
	defer func() {
		if len(found) > n {
			t.Logf("still running:\n%s", strings.Join(found, "\n"))
		}
	}()
	await.Until(t, "processes to exit", func() bool {
		found = processesWith(t, text)
		return len(found) <= n
	})
}
