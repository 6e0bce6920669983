// Package userbrowser is, in tests, the browser of a user who loaded the
// extension: a Chromium that is started as the user does, and a line of its own
// to it for what that user does and sees. The product comes to the same browser
// by its own ways meanwhile.
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
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// WaitTimeout bounds every wait for a browser: it is for a machine that is busy.
const WaitTimeout = 30 * time.Second

// Find returns the path of the Chromium to test with. It skips the test if the flag -short is set
// or there is no Chromium. In CI the latter fails the test.
func Find(t testing.TB) string {
	t.Helper()
	tier.Browser(t)
	path, err := chromium.Find(os.Getenv("CHROME_MCP_BROWSER"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI has no Chromium: %v", err)
		}
		t.Skipf("no Chromium: %v", err)
	}
	return path
}

// Options say how a browser is started.
type Options struct {
	Profile    string   // its user data folder
	Extensions []string // folders of extensions
	Window     string   // its size; "1000,700" when empty
	Flags      []string // more flags; they win
	Env        []string // nil is that of the test
	Display    string   // the X display to show its windows on; none is shown when empty
}

// A Browser is one that runs. Its methods are safe for concurrent use.
type Browser struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended

	mu      sync.Mutex // guards what follows, and writes
	in      *os.File
	lastID  int
	pending map[int]chan Answer // nil when the line is cut
}

// Start starts a browser with one blank tab. It is ended with the test, in
// order.
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
		mode, "--no-first-run", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
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
		force := time.AfterFunc(10*time.Second, func() { b.cmd.Process.Kill() })
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

// PID is the number of the browser's process.
func (b *Browser) PID() int { return b.cmd.Process.Pid }

// CloseGracefully ends the browser as its user does.
func (b *Browser) CloseGracefully(t testing.TB) {
	t.Helper()
	b.Send("", "Browser.close", nil)
	select {
	case <-b.ended:
	case <-time.After(WaitTimeout):
		t.Fatal("the browser does not end")
	}
}

// Kill ends the browser as a crash does.
func (b *Browser) Kill() {
	b.cmd.Process.Kill()
	<-b.ended
}

// Eventually waits for a condition of the browser, which tells nobody of it.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(WaitTimeout); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
