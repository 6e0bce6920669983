package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAgentsCommand(t *testing.T) {
	data, bin := filepath.Join(t.TempDir(), "data"), t.TempDir()
	program := filepath.Join(bin, "test-agent")
	if out, err := exec.Command("go", "build", "-o", program, "../../internal/testing/acpagent/agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Link(program, filepath.Join(bin, "codex-acp")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for _, c := range []struct {
		args  []string
		want  string
		fails bool
	}{
		{[]string{"agents"}, "agents needs a command", true},
		{[]string{"agents", "list"}, "codex-acp  " + bin + "/codex-acp  found, not added\n", false},
		{[]string{"agents", "test", "codex-acp"}, "no such agent: \"codex-acp\"\nhint: `chrome-mcp agents list` lists the agents.", true},
		{[]string{"agents", "add", "codex-acp"}, "added agent codex-acp: " + bin + "/codex-acp\n", false},
		{[]string{"agents", "add", "gemini"}, "no known agent \"gemini\" in PATH\nhint: Give its program", true},
		{[]string{"agents", "add", "mine", "--files", "--", "test-agent", "--load", "a b"}, "added agent mine: " + program + ` --load "a b"`, false},
		{[]string{"agents", "add", "old", "--", program, "--protocol=2"}, "added agent old", false},
		{[]string{"agents", "add", "mine", "--", program}, "agent mine exists", true},
		{[]string{"agents", "add"}, "name the agent to add", true},
		{[]string{"agents", "add", "x", "test-agent"}, "unexpected argument \"test-agent\"", true},
		{[]string{"agents", "add", "x", "--"}, "no program after --", true},
		{[]string{"agents", "add", "x", "--", "does-not-exist"}, "executable file not found", true},
		{[]string{"agents", "add", "x/y", "--", program}, "invalid agent name", true},
		{[]string{"agents", "list"}, "codex-acp  " + bin + "/codex-acp\nmine       " + program + " --load \"a b\"  files\n", false},
		{[]string{"agents", "test", "mine"}, "name                         Test Agent\nversion                      1.2.3\nprotocol version             1\ncontinues chats              yes\n", false},
		{[]string{"agents", "test", "old"}, "agent old has version 2 of the Agent Client Protocol, this program version 1", true},
		{[]string{"agents", "remove", "mine"}, "removed agent mine\n", false},
		{[]string{"agents", "remove", "mine"}, "no such agent", true},
		{[]string{"agents", "remove"}, "name the agent to remove", true},
	} {
		stdout, stderr, err := execute(t, data, nil, c.args...)
		if text := stdout + stderr; !strings.Contains(text, c.want) || (err != nil) != c.fails {
			t.Errorf("%q: %v\n%s\nwant %s", c.args, err, text, c.want)
		}
	}
}
