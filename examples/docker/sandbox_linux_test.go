package docker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

// TestChromiumsSandbox runs the program as its container does: with the image's
// environment and host.json's arguments, as a user without rights, with no way
// to new ones, under the seccomp profile. Under Docker's own Chromium must
// not start, or the test would prove nothing.
func TestChromiumsSandbox(t *testing.T) {
	browser, err := chromium.Find(os.Getenv("CHROME_MCP_BROWSER"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	c := newContainer(t, browser)
	if out, err := c.run(t, nil, "unshare", "--user", "true"); err != nil {
		t.Logf("this machine allows no user namespaces to users: %v: %s", err, out)
		c.mustNameTheSandbox(t, read(t, "seccomp.json"))
		return
	}
	c.mustNameTheSandbox(t, string(dockers(t)))

	_, address, stop, err := shop.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	_, _, args := host(t)
	for i, arg := range args {
		args[i] = strings.Replace(arg, "example.com", address, 1)
	}
	call := append([]string{"call", "navigate", "url=" + address, "then", "click", "selector=text=Order this lamp", "then", "get_text"}, args...)
	out, err := c.run(t, filter(t, []byte(read(t, "seccomp.json"))), c.program, call...)
	if err != nil || !strings.Contains(out, "Place the order") {
		t.Errorf("under seccomp.json: %v\n%s", err, out)
	}
}

// A container is what of one can be had without Docker.
type container struct {
	program string // the one of the image
	home    string // of the user
	env     []string
	user    *syscall.Credential // nil for our own, who is not root
}

func newContainer(t *testing.T, browser string) *container {
	t.Helper()
	dir := t.TempDir()
	c := &container{home: filepath.Join(dir, "home")}
	if err := os.Mkdir(c.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		c.user = &syscall.Credential{Uid: 10001, Gid: 10001}
		if err := os.Chown(c.home, int(c.user.Uid), int(c.user.Gid)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // that user has to come by
			t.Fatal(err)
		}
	}
	c.program = build(t, dir)
	c.env = append(environment(t), "HOME="+c.home, "TMPDIR="+c.home, "PATH="+os.Getenv("PATH"),
		"CHROME_MCP_BROWSER="+browser) // the last one counts
	return c
}

// run runs a program to its end, under a filter if there is one.
func (c *container) run(t *testing.T, code []bpf.RawInstruction, program string, args ...string) (out string, err error) {
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = c.home, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
	ran := make(chan struct{})
	go func() { // its thread is confined, and ends with it
		defer close(ran)
		if code != nil {
			if err = confine(code); err != nil {
				return
			}
		}
		var output []byte
		output, err = cmd.CombinedOutput()
		out = string(output)
	}()
	<-ran
	return out, err
}

// mustNameTheSandbox wants the browser not to start under a profile, and
// doctor to say why.
func (c *container) mustNameTheSandbox(t *testing.T, profile string) {
	t.Helper()
	out, err := c.run(t, filter(t, []byte(profile)), c.program, "doctor", "--launch")
	if err == nil || !strings.Contains(out, "the browser's sandbox does not work on this machine") || !strings.Contains(out, "user namespaces") {
		t.Errorf("doctor --launch without user namespaces: %v\n%s", err, out)
	}
	if !strings.Contains(out, "v1.2.3-image") {
		t.Errorf("doctor does not tell the version that the Dockerfile gives:\n%s", out)
	}
}
