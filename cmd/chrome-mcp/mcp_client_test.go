package main

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// An mcpServer is the program as an MCP host starts it, with a client.
type mcpServer struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	client  *sdk.ClientSession
	out, er *testlog.Buffer // stdout and stderr
}

// startMCP starts the program and initializes an MCP session.
func startMCP(t testing.TB, args ...string) *mcpServer {
	t.Helper()
	return startMCPWith(t, nil, nil, args...)
}

// startMCPWith is startMCP with client and session options.
func startMCPWith(t testing.TB, of *sdk.ClientOptions, begin *sdk.ClientSessionOptions, args ...string) *mcpServer {
	t.Helper()
	return startProgram(t, of, begin, append(rootNeedsNoSandbox(), args...)...)
}

// startProgram is startMCPWith without --no-sandbox.
func startProgram(t testing.TB, of *sdk.ClientOptions, begin *sdk.ClientSessionOptions, args ...string) *mcpServer {
	t.Helper()
	return startCommand(t, of, begin, exec.Command(binary, args...))
}

// startCommand starts cmd, as MCP hosts do, and initializes an MCP session.
func startCommand(t testing.TB, of *sdk.ClientOptions, begin *sdk.ClientSessionOptions, cmd *exec.Cmd) *mcpServer {
	t.Helper()
	s := &mcpServer{cmd: cmd, out: new(testlog.Buffer), er: new(testlog.Buffer)}
	s.cmd.Stderr = s.er
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
	s.stdin = stdin
	t.Cleanup(func() {
		stdin.Close()
		force := time.AfterFunc(await.HangLimit, func() { s.cmd.Process.Kill() })
		s.cmd.Wait()
		if !force.Stop() {
			t.Error("the server did not exit at the end of its input")
		}
		if t.Failed() {
			t.Logf("stderr of the server:\n%s", s.er)
		}
	})
	transport := &sdk.IOTransport{Reader: teed{io.TeeReader(stdout, s.out), stdout}, Writer: stdin}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, of)
	if s.client, err = client.Connect(t.Context(), transport, begin); err != nil {
		t.Fatalf("%v\n%s", err, s.er)
	}
	return s
}

type teed struct {
	io.Reader
	io.Closer
}

// try calls a tool and returns the text of its result.
func (s *mcpServer) try(ctx context.Context, tool string, args map[string]any) (text string, failed bool, err error) {
	if args == nil {
		args = map[string]any{}
	}
	res, err := s.client.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", true, err
	}
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			text += c.Text
		case *sdk.ImageContent:
			text += "\n" + c.MIMEType
		}
	}
	return text, res.IsError, nil
}

// call calls a tool, which must not fail, and checks that its result contains the texts of want.
func (s *mcpServer) call(t testing.TB, tool string, args map[string]any, want ...string) string {
	t.Helper()
	text, failed, err := s.try(t.Context(), tool, args)
	if err != nil || failed {
		t.Fatalf("%s %s: %v %s", tool, asJSON(args), err, text)
	}
	wants(t, tool+" "+asJSON(args), text, want)
	return text
}

// refused calls a tool and checks that it fails with code.
func (s *mcpServer) refused(t *testing.T, code, tool string, args map[string]any, want ...string) {
	t.Helper()
	text, failed, err := s.try(t.Context(), tool, args)
	if err != nil || !failed || !strings.HasPrefix(text, code+": ") {
		t.Fatalf("%s %s: %v %s, want %s", tool, asJSON(args), err, text, code)
	}
	wants(t, tool+" "+asJSON(args), text, want)
}

// wants checks that text contains each text of want, ignoring case.
func wants(t testing.TB, what, text string, want []string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
			t.Errorf("%s answered\n%s\nwant %q in it", what, text, part)
		}
	}
}

func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// until repeats a call until its result contains want, because browsers change state
// asynchronously.
func (s *mcpServer) until(t *testing.T, want, tool string, args map[string]any) (text string) {
	t.Helper()
	found := false
	defer func() {
		if !found {
			t.Logf("%s answers\n%s", tool, text)
		}
	}()
	await.Until(t, tool+" to report "+want, func() bool {
		var err error
		if text, _, err = s.try(t.Context(), tool, args); err != nil {
			t.Fatal(err)
		}
		found = strings.Contains(strings.ToLower(text), strings.ToLower(want))
		return found
	})
	return text
}

// end closes stdin, as hosts do, and waits until the process has exited.
func (s *mcpServer) end(t *testing.T) {
	t.Helper()
	s.stdin.Close()
	if err := s.cmd.Wait(); err != nil { // the client still reads: a late response must not end the server with SIGPIPE
		t.Errorf("the server ended with %v", err)
	}
	s.client.Close()
}
