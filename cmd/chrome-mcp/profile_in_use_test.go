package main

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
)

// TestProfileInUse uses a profile from two sessions of a server, and while another process uses it.
func TestProfileInUse(t *testing.T) {
	needChromium(t)
	address := openShop(t)
	c := newCommandLine(t)
	navigate := append([]string{"navigate", "url=" + address, "--headless", "--prefer", "cdp", "--allow-domain", address, "--profile", "work"}, rootNeedsNoSandbox()...)
	call := func(session string) (string, error) {
		return c.run(append([]string{"call", "--session", session}, navigate...)...)
	}
	wantFailure := func(session string, texts ...string) {
		t.Helper()
		out, err := call(session)
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != errclass.ExitLimit {
			t.Errorf("%s: %v\n%s", session, err, out)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s: %s, want %q", session, out, text)
			}
		}
	}
	if out, err := call("a"); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	wantFailure("b", `BACKPRESSURE: Profile work is in use by session "a"`, "--profile")
	if out, err := c.run("sessions", "close", "a"); err != nil {
		t.Fatalf("close: %v\n%s", err, out)
	}
	if out, err := call("b"); err != nil {
		t.Errorf("call after the other session: %v\n%s", err, out)
	}
	if out, err := c.run("sessions", "close", "--all"); err != nil {
		t.Fatalf("close: %v\n%s", err, out)
	}

	shell := exec.Command(binary, append([]string{"shell", "--no-server", "--data", c.data}, navigate[2:]...)...)
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, "navigate url="+address+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	wantFailure("c", "BACKPRESSURE: ", "is in use by process")
	stdin.Close()
	io.Copy(io.Discard, stdout)
	if err := shell.Wait(); err != nil {
		t.Error(err)
	}
	if out, err := call("c"); err != nil {
		t.Errorf("call after the other process: %v\n%s", err, out)
	}
}
