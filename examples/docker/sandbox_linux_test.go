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
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// TestChromiumSandbox runs the program as its container does: with the image's environment and the
// arguments of host.json, as an unprivileged user with no_new_privs, under the seccomp profile.
// Under Docker's default profile Chromium must not start; otherwise the test would prove nothing.
func TestChromiumSandbox(t *testing.T) {
	browser := userbrowser.Find(t)
	c := newContainer(t, browser)
	if out, err := c.run(t, nil, "unshare", "--user", "true"); err != nil {
		t.Logf("unprivileged user namespaces are not available: %v: %s", err, out)
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
	call := append([]string{"call", "--no-server", "navigate", "url=" + address, "then", "click", "selector=text=Order this lamp", "then", "get_text"}, args...)
	out, err := c.run(t, filter(t, []byte(read(t, "seccomp.json"))), c.program, call...)
	if err != nil || !strings.Contains(out, "Place the order") {
		t.Errorf("under seccomp.json: %v\n%s", err, out)
	}
}

// A container reproduces the parts of a container that work without Docker.
type container struct {
	program string // path of the image's program
	home    string // home directory of the user
	env     []string
	user    *syscall.Credential // nil to run as the current user, who is not root
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
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the user must be able to reach it
			t.Fatal(err)
		}
	}
	c.program = build(t, dir)
	c.env = append(environment(t), "HOME="+c.home, "TMPDIR="+c.home, "PATH="+os.Getenv("PATH"),
		"CHROME_MCP_BROWSER="+browser) // the last value counts
	return c
}

// run runs a program until it exits, under a filter if code is not nil.
func (c *container) run(t *testing.T, code []bpf.RawInstruction, program string, args ...string) (out string, err error) {
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = c.home, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
	ran := make(chan struct{})
	go func() { // its thread is restricted and exits with the goroutine
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

// mustNameTheSandbox checks that the browser does not start under a profile, and that doctor
// reports the reason.
func (c *container) mustNameTheSandbox(t *testing.T, profile string) {
	t.Helper()
	out, err := c.run(t, filter(t, []byte(profile)), c.program, "doctor", "--launch")
	if err == nil || !strings.Contains(out, "the Chromium sandbox is not available on this machine") || !strings.Contains(out, "user namespaces") {
		t.Errorf("doctor --launch without user namespaces: %v\n%s", err, out)
	}
	if !strings.Contains(out, "v1.2.3-image") {
		t.Errorf("doctor does not print the version of the Dockerfile:\n%s", out)
	}
}
