package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// A commandLine runs the built program on one data directory, and stops its server at the end of
// the test.
type commandLine struct {
	t    testing.TB
	data string
}

func newCommandLine(t *testing.T) *commandLine {
	t.Helper()
	data, err := os.MkdirTemp("", "cli") // the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	c := &commandLine{t, data}
	t.Cleanup(func() {
		if out, err := c.run("serve", "stop"); err != nil {
			t.Errorf("serve stop: %v\n%s", err, out)
		}
		waitGone(t, data)
		os.RemoveAll(data)
	})
	return c
}

// openShop opens the example shop until the end of the test, and returns its URL.
func openShop(t *testing.T) string {
	t.Helper()
	_, address, stop, err := shop.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return address
}

// run runs a command and returns its output.
func (c *commandLine) run(args ...string) (string, error) {
	cmd := exec.Command(binary, append(args, "--data", c.data)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// navigate opens a page in the default session.
func (c *commandLine) navigate(address string) {
	c.t.Helper()
	args := append([]string{"call", "navigate", "url=" + address, "--headless", "--isolated", "--prefer", "cdp", "--allow-domain", address}, rootNeedsNoSandbox()...)
	if out, err := c.run(args...); err != nil || !strings.Contains(out, "Walnut") {
		c.t.Fatalf("navigate: %v\n%s", err, out)
	}
}

// browsers returns the processes of the browsers of the running server.
func (c *commandLine) browsers(t *testing.T) []string {
	return slices.DeleteFunc(processesWith(t, c.data), func(process string) bool { return strings.Contains(process, " serve ") })
}

var serverProcess = regexp.MustCompile(`process ([0-9]+),`)

// server returns the process of the running server.
func (c *commandLine) server() *os.Process {
	c.t.Helper()
	out, err := c.run("serve", "status")
	found := serverProcess.FindStringSubmatch(out)
	if err != nil || found == nil {
		c.t.Fatalf("serve status: %v\n%s", err, out)
	}
	pid, err := strconv.Atoi(found[1])
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// TestConcurrentCommandsStartOneServer runs commands at the same time while no server is running.
func TestConcurrentCommandsStartOneServer(t *testing.T) {
	c := newCommandLine(t)
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			if out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", fmt.Sprint("s", i%4)); err != nil {
				t.Errorf("call: %v\n%s", err, out)
			}
		})
	}
	running.Wait()
	if out, err := c.run("serve", "status"); err != nil || !strings.Contains(out, ", sessions of call and shell: 4") {
		t.Errorf("serve status: %v\n%s", err, out)
	}
	waitProcesses(t, c.data, 1) // the others exit when they find it
}

// TestKilledServer checks that a killed server leaves no browser, and that the next command
// replaces its socket, starts another server, and removes the temporary profile.
func TestKilledServer(t *testing.T) {
	needChromium(t)
	address := openShop(t)
	c := newCommandLine(t)
	c.navigate(address)
	left := profiles(t, c.data)
	if len(left) != 1 || len(processesWith(t, c.data)) < 2 {
		t.Fatalf("temporary profiles %q, processes %q", left, processesWith(t, c.data))
	}
	killed := c.server()
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c.data)
	stale, err := os.Lstat(server.SocketPath(c.data))
	if err != nil {
		t.Fatal(err) // there is nothing to replace
	}
	if out, err := c.run("sessions"); err != nil || !strings.HasPrefix(out, "no open sessions;") {
		t.Errorf("sessions without a server: %v\n%s", err, out)
	}
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", "status"); err != nil || !strings.Contains(out, "v0.0.0-test") {
		t.Errorf("call: %v\n%s", err, out)
	}
	if info, err := os.Lstat(server.SocketPath(c.data)); err != nil || os.SameFile(info, stale) && info.ModTime().Equal(stale.ModTime()) {
		t.Errorf("the socket was not replaced: %v, %v", info, err)
	}
	if next := c.server(); next.Pid == killed.Pid {
		t.Errorf("process %d is still the server", next.Pid)
	}
	c.navigate(address)
	for _, profile := range profiles(t, c.data) {
		if profile == left[0] {
			t.Errorf("the next server left %s", profile)
		}
	}
}

// TestTerminatedServer checks that SIGTERM ends the server, its browser and its socket.
func TestTerminatedServer(t *testing.T) {
	needChromium(t)
	address := openShop(t)
	c := newCommandLine(t)
	c.navigate(address)
	if err := c.server().Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c.data)
	if left := profiles(t, c.data); len(left) > 0 {
		t.Errorf("the server left %q", left)
	}
	if _, err := os.Lstat(server.SocketPath(c.data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket after the end: %v", err)
	}
}

// TestSessionsCloseEndsBrowser checks that the browser of the last session with a temporary profile has
// exited when sessions close returns.
func TestSessionsCloseEndsBrowser(t *testing.T) {
	needChromium(t)
	address := openShop(t)
	c := newCommandLine(t)
	c.navigate(address)
	if len(c.browsers(t)) == 0 {
		t.Fatal("no browser is running")
	}
	if out, err := c.run("sessions", "close", "--all"); err != nil || out != "closed default\n" {
		t.Errorf("sessions close: %v\n%s", err, out)
	}
	for _, process := range c.browsers(t) {
		t.Errorf("sessions close left %s", process)
	}
}

// TestServeStopWaitsForBrowsers checks that no browser is left when serve stop returns, and that a
// server which starts at the same time waits until then.
func TestServeStopWaitsForBrowsers(t *testing.T) {
	needChromium(t)
	address := openShop(t)
	c := newCommandLine(t)
	c.navigate(address)
	if len(c.browsers(t)) == 0 {
		t.Fatal("no browser is running")
	}
	if err := c.server().Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitNotRunning(t, c.data) // it no longer listens
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", "status"); err != nil {
		t.Errorf("call: %v\n%s", err, out)
	}
	for _, process := range c.browsers(t) {
		t.Errorf("the next server started before the end of %s", process)
	}
	c.navigate(address)
	if out, err := c.run("serve", "stop"); err != nil || !strings.HasPrefix(out, "closed ") || !strings.HasSuffix(out, "\nstopped\n") {
		t.Errorf("serve stop: %v\n%s", err, out)
	}
	for _, process := range c.browsers(t) {
		t.Errorf("serve stop left %s", process)
	}
}

// TestServerOfAnotherVersion runs a command while a server of another version is running.
func TestServerOfAnotherVersion(t *testing.T) {
	c := newCommandLine(t)
	l, err := server.Listen(t.Context(), c.data)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		defer l.Release()
		ended <- server.New(server.Options{Version: "v9.9.9"}).Serve(ctx, l)
	}()
	out, err := c.run("call", "chrome_status")
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != cli.ExitUsage || !strings.Contains(out, "the running server has version v9.9.9, this program v0.0.0-test") || !strings.Contains(out, "serve stop") {
		t.Errorf("call: %v\n%s", err, out)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSocketOfAnotherUser runs a command on a socket that another user owns.
func TestSocketOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	c := newCommandLine(t)
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp"); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	const nobody = 65534
	socket := server.SocketPath(c.data)
	if err := os.Chown(socket, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	out, err := c.run("call", "chrome_status")
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != errclass.ExitNoBrowser || !strings.Contains(out, socket) || !strings.Contains(out, "belongs to") {
		t.Errorf("call: %v\n%s", err, out)
	}
	if err := os.Chown(socket, 0, 0); err != nil {
		t.Fatal(err)
	}
}

// TestServerTakesNoSettings checks that a server gets nothing from the variables of the command
// that starts it: a session that a later command opens without settings has no policy.
func TestServerTakesNoSettings(t *testing.T) {
	c := newCommandLine(t)
	t.Setenv("CHROME_MCP_ALLOW_DOMAIN", "example.com")
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", "first")
	if err != nil || !strings.Contains(out, "allowed domains: example.com") {
		t.Fatalf("call: %v\n%s", err, out)
	}
	os.Unsetenv("CHROME_MCP_ALLOW_DOMAIN") // t.Setenv restores it
	out, err = c.run("call", "chrome_status", "--prefer", "cdp", "--session", "second")
	if err != nil || strings.Contains(out, "example.com") {
		t.Errorf("call: %v\n%s", err, out)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.server().Pid))
	if err == nil && (strings.Contains(string(environ), "CHROME_MCP_") || strings.Contains(string(environ), "proxy.example")) {
		t.Errorf("environment of the server: %q", environ)
	}
	if err != nil && runtime.GOOS == "linux" {
		t.Error(err)
	}
}
