//go:build unix

package main

import (
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestBrowserExits closes both pipes of the host at the same time, as the exit of a browser does, while an agent
// writes. The host must then end the agent and its children.
func TestBrowserExits(t *testing.T) {
	data := filepath.Join(shortTempDir(t), "data")
	addScriptedAgent(t, data)
	p := openPanelPort(t, data)
	chat := chatID(p.Call("new", map[string]any{"agent": "scripted", "url": ""}))
	p.Call("prompt", map[string]any{"chat": chat, "text": "say hello"})
	p.Send("prompt", map[string]any{"chat": chat, "text": "child\nthink started\nflood say x"})
	child := 0
	p.Until("the pid of the child", func(e map[string]any) bool {
		if text, _ := entryIn(e)["text"].(string); entryIn(e)["kind"] == "agent" && child == 0 {
			child, _ = strconv.Atoi(text)
		}
		return entryIn(e)["kind"] == "thought"
	})
	if child == 0 || syscall.Kill(child, 0) != nil {
		t.Fatalf("the child has the pid %d", child)
	}
	p.out.Close()
	p.in.Close()
	await.Until(t, "the end of the child", func() bool { return syscall.Kill(child, 0) != nil })
}
