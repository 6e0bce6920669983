package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// inspector is the command line of the MCP inspector.
const inspector = "../../tools/inspector/node_modules/.bin/mcp-inspector"

// TestInspector lists the tools and calls one with the command line of the MCP inspector, over HTTP
// with a token. It requires Node and tools/inspector/node_modules (make inspector).
func TestInspector(t *testing.T) {
	tier.Deep(t)
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(inspector)
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI lacks Node or the inspector: %v", err)
		}
		t.Skipf("Node or the inspector not found (make inspector): %v", err)
	}
	address := openShop(t)
	c := newCommandLine(t)
	url := c.serve(append(rootNeedsNoSandbox(), "--headless", "--allow-domain", address)...)
	token, err := server.ReadToken(server.TokenPath(c.data))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir() // the inspector keeps a catalog there
	inspect := func(token string, args ...string) (stdout, stderr string, err error) {
		cmd := exec.CommandContext(t.Context(), inspector, append([]string{"--cli", url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		var out, er bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &er
		err = cmd.Run()
		return out.String(), er.String(), err
	}

	stdout, stderr, err := inspect(token, "--method", "tools/list", "--strict") // fails if a schema has an error
	var list struct {
		Tools []struct{ Name string }
	}
	if err == nil {
		err = json.Unmarshal([]byte(stdout), &list)
	}
	if err != nil || len(list.Tools) < 26 || !strings.Contains(stdout, `"name": "navigate"`) {
		t.Errorf("tools/list: %d tools, %v\n%s", len(list.Tools), err, stderr)
	}

	stdout, stderr, err = inspect(token, "--method", "tools/call", "--tool-name", "navigate", "--tool-arg", "url="+address)
	var result struct {
		Content           []struct{ Text string }
		StructuredContent struct{ Title string }
		IsError           bool
	}
	if err == nil {
		err = json.Unmarshal([]byte(stdout), &result)
	}
	if err != nil || result.IsError || len(result.Content) != 1 || !strings.Contains(result.Content[0].Text, "Walnut") || !strings.Contains(result.StructuredContent.Title, "Walnut") {
		t.Errorf("tools/call: %v\n%s%s", err, stdout, stderr)
	}

	if stdout, stderr, err = inspect(token+"x", "--method", "tools/list"); err == nil || strings.Contains(stdout, "navigate") {
		t.Errorf("with a wrong token: %v\n%s%s", err, stdout, stderr)
	}
}
