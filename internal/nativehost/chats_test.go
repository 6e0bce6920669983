package nativehost

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// TestChatMCPServer checks how the agent of a chat starts its MCP server: the token is in a private
// file, and neither in the arguments nor in the environment.
func TestChatMCPServer(t *testing.T) {
	data := t.TempDir()
	if err := owneronly.MakePrivateDir(filepath.Join(data, chatsName)); err != nil {
		t.Fatal(err)
	}
	settings, err := cli.ChatSettings(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	chats, err := startChatServer("1", data, "ours", settings, secrets.Open(data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer chats.Close()
	tabs, err := chats.Open(t.Context(), "chat1", "a")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(data, chatsName, "principals", "chat1")
	command := tabs.Server()
	want := []string{"--connect", server.SocketPath(filepath.Join(data, chatsName)), "--principal-file", file, "--config", cli.NoConfig}
	if command.Command != program || !slices.Equal(command.Args, want) {
		t.Errorf("the command is %q %q, want %q", command.Command, command.Args, want)
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(token))
	if len(secret) < 20 {
		t.Fatalf("the token has %d characters", len(secret))
	}
	for _, text := range append(slices.Concat(command.Args, os.Environ()), command.Command) {
		if strings.Contains(text, secret) {
			t.Error("the token is in the arguments or in the environment")
		}
	}
	if info, err := os.Stat(file); err != nil || !owneronly.Private(info) {
		t.Errorf("the file of the token: %v, %v", info, err)
	}
	if err := tabs.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file of the token after the chat: %v", err)
	}
}

func TestIsToolCall(t *testing.T) {
	for _, title := range []string{"navigate", "mcp__chrome-mcp__navigate", "chrome-mcp/navigate", "Tool: chrome-mcp/navigate", "chrome-mcp_navigate", "chrome-mcp: navigate", "mcp.chrome-mcp.navigate", "navigate (chrome-mcp MCP Server)"} {
		if !isToolCall(title) {
			t.Errorf("%q is a call of a tool", title)
		}
	}
	for _, title := range []string{"", "type notes.txt", "find . -name x", "git back", "mcp__other__navigate", "navigate (other MCP Server)", "echo chrome-mcp/navigate", "navigate\n", "./navigate"} {
		if isToolCall(title) {
			t.Errorf("%q is not a call of a tool", title)
		}
	}
}
