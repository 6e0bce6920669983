// Package userbrowser starts a user's browser for tests: a Chromium with the extension. A test acts
// as the user over a separate CDP connection, which is independent of the product.
package userbrowser

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// Find returns the path of the Chromium to test with. It skips the test if the flag -short is set
// or there is no Chromium. In CI the latter fails the test.
func Find(t testing.TB) string {
	t.Helper()
	tier.Browser(t)
	path, err := chromium.Find(tier.FullBrowser())
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI has no Chromium: %v", err)
		}
		t.Skipf("no Chromium: %v", err)
	}
	return path
}

// Options are the options of [Start].
type Options struct {
	Profile    string   // user data directory
	Extensions []string // directories of extensions
	Window     string   // window size; empty means "1000,700"
	Flags      []string // additional flags, which override others
	Env        []string // nil means the environment of the test
	Display    string   // X display for its windows; empty means headless
}

// A Browser is a running browser. Its methods are safe for concurrent use.
type Browser struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has exited

	mu      sync.Mutex // guards the fields below, and writes
	in      *os.File
	lastID  int
	pending map[int]chan Answer // nil after the connection has ended
}

// Start starts a browser with one blank tab. The browser is closed gracefully at the end of the
// test.
func Start(t testing.TB, o Options) *Browser {
	t.Helper()
	fromUs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	mode, env := "--headless=new", o.Env
	if o.Display != "" {
		if env == nil {
			env = os.Environ()
		}
		mode, env = "--ozone-platform=x11", append(env, "DISPLAY="+o.Display)
	}
	args := []string{
		mode, "--no-first-run", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", tier.FastWindows,
		"--window-size=" + cmp.Or(o.Window, "1000,700"), "--user-data-dir=" + o.Profile, "--load-extension=" + strings.Join(o.Extensions, ","), "--remote-debugging-pipe",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	b := &Browser{cmd: exec.Command(Find(t), append(append(args, o.Flags...), "about:blank")...), ended: make(chan struct{}), in: in, pending: map[int]chan Answer{}}
	b.cmd.ExtraFiles = []*os.File{fromUs, fromBrowser}
	b.cmd.Env = env
	var stderr bytes.Buffer
	b.cmd.Stderr = &stderr
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	fromBrowser.Close()
	go func() {
		b.read(out)
		in.Close()
		b.cmd.Wait()
		close(b.ended)
	}()
	t.Cleanup(func() {
		b.cmd.Process.Signal(os.Interrupt)
		force := time.AfterFunc(await.HangLimit, func() { b.cmd.Process.Kill() })
		<-b.ended
		force.Stop()
		if t.Failed() {
			for line := range strings.Lines(stderr.String()) {
				if !strings.Contains(line, "dbus/") { // a machine without a desktop
					t.Logf("the browser says: %s", strings.TrimSpace(line))
				}
			}
		}
	})
	return b
}

// PID returns the process id of the browser.
func (b *Browser) PID() int { return b.cmd.Process.Pid }

// CloseGracefully closes the browser as its user does.
func (b *Browser) CloseGracefully(t testing.TB) {
	t.Helper()
	b.Send("", "Browser.close", nil)
	await.Receive(t, "the browser to exit", b.ended)
}

// Kill kills the browser process.
func (b *Browser) Kill() {
	b.cmd.Process.Kill()
	<-b.ended
}
