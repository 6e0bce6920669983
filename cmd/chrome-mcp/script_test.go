package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestScripts runs testdata/script. Each file is a terminal session with the built program. The
// shop of the examples runs at $SHOP.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			_, address, stop, err := shop.Open()
			if err != nil {
				return err
			}
			env.Defer(stop)
			env.Setenv("SHOP", address)
			env.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Defer(func() { stopLocalServer(t, env.WorkDir) })
			env.Setenv("CHROME_MCP_HEADLESS", "true")
			if os.Geteuid() == 0 {
				env.Setenv("CHROME_MCP_NO_SANDBOX", "true")
			}
			browser := tier.Shell()
			switch strings.TrimPrefix(filepath.Base(env.WorkDir), "script-") {
			case "doctor", "extension", "wrong-flags": // they are about the browser that is found, or about flags that exclude one
				browser = tier.FullBrowser()
			}
			if browser != "" {
				env.Setenv("CHROME_MCP_BROWSER", browser)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "chromium" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			if testing.Short() {
				return false, nil
			}
			_, err := chromium.Find(tier.Shell())
			if err != nil && os.Getenv("CI") != "" {
				return false, fmt.Errorf("Chromium not found in CI: %w", err)
			}
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rpc":   rpc,
			"exits": exits,
			"long":  long,
		},
		RequireExplicitExec: true,
	})
}

// stopLocalServer stops the server that a script may have started, and waits for its end.
func stopLocalServer(t *testing.T, home string) {
	cmd := exec.Command(binary, "serve", "stop")
	cmd.Env = append(os.Environ(), "HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("serve stop: %v\n%s", err, out)
	}
}

// long creates a file with one line of the given length: long name 1000.
func long(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: long name length")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("x", n)), 0o600))
}

// exits runs a program and checks its exit code: exits 2 chrome-mcp --bad. Further commands can
// check stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// rpc runs a program and exchanges JSON-RPC messages with it: rpc steps.txt program [args...]. Each
// line of the file is one step, after expansion of variables:
//
//	> TEXT   send this line
//	< RE     the next response must match
//	eof      close stdin
//	term     send SIGTERM
//	exit N   the program must exit with this code
//
// Any output on stdout that is not JSON-RPC is a failure.
func rpc(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rpc steps program [args...]")
	}
	c := startRPC(ts, args[1:])
	defer c.kill()
	for i, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		line = os.Expand(strings.TrimSpace(line), func(name string) string {
			if name == "$" {
				return "$"
			}
			return ts.Getenv(name)
		})
		verb, rest, _ := strings.Cut(line, " ")
		var err error
		switch verb {
		case "", "#":
		case ">":
			_, err = io.WriteString(c.stdin, rest+"\n")
		case "<":
			err = c.expect(rest)
		case "eof":
			err = c.stdin.Close()
		case "term":
			err = c.cmd.Process.Signal(syscall.SIGTERM)
		case "exit":
			err = c.exits(rest)
		default:
			err = fmt.Errorf("unknown step %q", verb)
		}
		if err != nil {
			ts.Fatalf("%s:%d: %v\nstderr: %s", args[0], i+1, err, &c.stderr)
		}
	}
}

// An rpcProcess is a program that exchanges JSON-RPC messages on stdin and stdout.
type rpcProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // of stdout; closed at its end
	stderr bytes.Buffer
}

func startRPC(ts *testscript.TestScript, args []string) *rpcProcess {
	c := &rpcProcess{lines: make(chan string, 100)}
	path := args[0]
	if path == "chrome-mcp" {
		path = binary
	}
	c.cmd = exec.Command(path, args[1:]...)
	c.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "TMP", "SYSTEMROOT", "DISPLAY",
		"CHROME_MCP_HEADLESS", "CHROME_MCP_NO_SANDBOX", "CHROME_MCP_BROWSER",
	} {
		if value := ts.Getenv(name); value != "" {
			c.cmd.Env = append(c.cmd.Env, name+"="+value)
		}
	}
	c.cmd.Stderr = &c.stderr
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	ts.Check(err)
	stdout, err := c.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(c.cmd.Start())
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(stdout); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// kill kills the process.
func (c *rpcProcess) kill() {
	c.stdin.Close()
	c.cmd.Process.Kill()
	for range c.lines {
	}
	c.cmd.Wait()
}

// expect reads up to the next response, which must match the pattern.
func (c *rpcProcess) expect(pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	deadline := time.After(await.HangLimit)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return errors.New("stdout ended")
			}
			isResponse, err := checkRPC(line)
			if err != nil {
				return err
			}
			if !isResponse {
				continue
			}
			if !re.MatchString(line) {
				return fmt.Errorf("%s does not match %s", pattern, line)
			}
			return nil
		case <-deadline:
			return errors.New("no response")
		}
	}
}

// checkRPC reports whether line is a response. It returns an error if line is not a JSON-RPC
// message.
func checkRPC(line string) (isResponse bool, err error) {
	var m struct {
		Version       string `json:"jsonrpc"`
		ID            any
		Method        string
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
		return false, fmt.Errorf("stdout contains something other than JSON-RPC: %q (%v)", line, err)
	}
	return m.Method == "" && (m.Result != nil || m.Error != nil), nil
}

// exits waits until the process exits and checks its exit code.
func (c *rpcProcess) exits(code string) error {
	late := time.NewTimer(await.HangLimit)
	defer late.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if ok {
				if _, err := checkRPC(line); err != nil {
					return err
				}
				continue
			}
			c.cmd.Wait()
			if got := strconv.Itoa(c.cmd.ProcessState.ExitCode()); got != code {
				return fmt.Errorf("exit code %s, want %s", got, code)
			}
			return nil
		case <-late.C:
			return errors.New("the program is still running")
		}
	}
}
