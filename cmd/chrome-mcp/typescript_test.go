package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// TestTypeScriptClient lists and calls the tools with the client of the official TypeScript SDK,
// which validates structured results against the output schemas. It requires Node and
// tools/node_modules (make setup), and always runs in CI.
func TestTypeScriptClient(t *testing.T) {
	needChromium(t)
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("../../tools/node_modules/@modelcontextprotocol/sdk")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI lacks Node or the SDK: %v", err)
		}
		t.Skipf("Node or the SDK not found (make setup): %v", err)
	}
	// HTTP sessions have all toolsets and structured results.
	for mode, tools := range map[string]int{"text": 26, "http": 0} {
		t.Run(mode, func(t *testing.T) {
			address := openShop(t)
			flags := append(rootNeedsNoSandbox(), "--headless", "--allow-domain", address, "--enable-mutations")
			args := []string{"../../tools/typescript-client.mjs", address}
			if mode == "http" {
				c := newCommandLine(t)
				args = append(args, c.serve(flags...)+"/mcp", server.TokenPath(c.data))
			} else {
				args = append(append(args, binary, "--isolated", "--data", t.TempDir()), flags...)
			}
			command := exec.CommandContext(t.Context(), node, args...)
			var stderr bytes.Buffer
			command.Stderr = &stderr
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			type result struct {
				IsError           bool
				Content           []struct{ Type, Text string }
				StructuredContent json.RawMessage
			}
			var got struct {
				Server  struct{ Name, Version string }
				Tools   []struct{ Name string }
				Results map[string]result
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got.Server.Name != "chrome-mcp" || got.Server.Version != "v0.0.0-test" || tools > 0 && len(got.Tools) != tools || len(got.Tools) < 26 {
				t.Errorf("server %+v, %d tools", got.Server, len(got.Tools))
			}
			for name, want := range map[string]struct {
				text   string
				failed bool
			}{
				"status":       {"127.0.0.1", false},
				"navigate":     {"Walnut desk lamp", false},
				"snapshot":     {`link "Order this lamp"`, false},
				"badArguments": {"BAD_ARGS", true},
				"denied":       {"POLICY_DENIED", true},
			} {
				r := got.Results[name]
				if len(r.Content) == 0 || !strings.Contains(r.Content[0].Text, want.text) || r.IsError != want.failed {
					t.Errorf("%s: %+v, want %q, failed %v", name, r, want.text, want.failed)
				}
				if has := len(r.StructuredContent) > 0; has != (mode != "text" && !want.failed) {
					t.Errorf("%s: structured content %s", name, r.StructuredContent)
				}
			}
		})
	}
}
