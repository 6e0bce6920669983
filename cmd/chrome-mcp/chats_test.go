package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/nativemessage"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/panelport"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// exampleAgent builds the example agent, and returns its path.
var exampleAgent = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "acp-agent")
	out, err := exec.Command("go", "build", "-o", path, "../../examples/acp-agent").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return path, err
})

// addExampleAgent configures the example agent in a data directory.
func addExampleAgent(t *testing.T, data string) {
	t.Helper()
	path, err := exampleAgent()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, "agents", "add", "example", "--data", data, "--", path).CombinedOutput(); err != nil {
		t.Fatalf("agents add: %v %s", err, out)
	}
}

// A panelPort is the native port of the side panel: the program as Chrome starts it, and the
// extension's end.
type panelPort struct {
	*panelport.Port
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
}

func openPanelPort(t *testing.T, data string) *panelPort {
	t.Helper()
	p := &panelPort{t: t, cmd: exec.Command(binary, "--data", data, "native-host", "chrome-extension://"+extension.ID()+"/")}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.in.Close()
		p.cmd.Process.Kill()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(data, "chats", "log"))
			t.Logf("the log of the host:\n%s", log)
		}
	})
	p.Port = panelport.Open(t, p.in, p.out)
	return p
}

// entryIn returns the entry in an event, or nil.
func entryIn(event map[string]any) map[string]any {
	entry, _ := event["entry"].(map[string]any)
	return entry
}

// transcriptOf returns the entries of a chat as JSON.
func (p *panelPort) transcriptOf(chat string) string {
	p.t.Helper()
	data, err := json.Marshal(p.Call("read", map[string]any{"chat": chat, "limit": 100})["entries"])
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func chatID(result map[string]any) string { return result["chat"].(map[string]any)["id"].(string) }

// TestChats checks the chats of the side panel from the extension's end: an agent that has no tab, a
// turn that is stopped, a transcript that survives the browser, and the errors of each method.
func TestChats(t *testing.T) {
	data := filepath.Join(shortTempDir(t), "data")
	addExampleAgent(t, data)
	p := openPanelPort(t, data)
	if list := p.Call("agents", struct{}{})["agents"].([]any); len(list) != 1 || list[0].(map[string]any)["name"] != "example" {
		t.Fatalf("the agents are %v", list)
	}
	p.Fails("BAD_ARGS", `no such agent: "none"`, "new", map[string]any{"agent": "none", "url": "https://example.com/"})
	p.Fails("UNKNOWN_METHOD", "unknown method", "start", struct{}{})
	opened := p.Call("new", map[string]any{"agent": "example", "title": "Shop", "url": "https://shop.example/lamps?x=1"})
	chat := chatID(opened)
	if port := opened["port"].(float64); port < 1024 {
		t.Errorf("the port is %v", port)
	}
	if c := opened["chat"].(map[string]any); c["site"] != "shop.example" || c["open"] != true || c["agent"] != "example" {
		t.Errorf("the chat is %v", c)
	}

	// No tab was given to the chat, so the tool fails. The agent reports that.
	result := p.Call("prompt", map[string]any{"chat": chat, "text": "What is this?"})
	if result["stop"] != "end_turn" {
		t.Errorf("the turn ended with %v", result)
	}
	text := p.transcriptOf(chat)
	for _, want := range []string{`"kind":"user"`, "What is this?", `"title":"get_text"`, `"status":"failed"`, "NO_BACKEND", "This page has "} {
		if !strings.Contains(text, want) {
			t.Errorf("the transcript has no %s:\n%s", want, text)
		}
	}
	p.Fails("BAD_ARGS", "empty", "prompt", map[string]any{"chat": chat, "text": " "})
	p.Fails("BAD_ARGS", "longer than 64 KiB", "prompt", map[string]any{"chat": chat, "text": strings.Repeat("x", 65<<10)})

	// A turn that waits for a permission is stopped.
	turn := p.Send("prompt", map[string]any{"chat": chat, "text": "press Buy"})
	p.Until("a permission request", func(e map[string]any) bool { return entryIn(e)["kind"] == "permission" })
	p.Fails("BACKPRESSURE", "has not finished", "prompt", map[string]any{"chat": chat, "text": "more"})
	p.Call("cancel", map[string]any{"chat": chat})
	if result := p.Result(turn); result["stop"] != "cancelled" {
		t.Errorf("the stopped turn ended with %v", result)
	}

	// Only the principal of the chat has access to its server.
	socket := filepath.Join(data, "chats", "server", "socket")
	out, err := exec.Command(binary, "call", "tabs_list", "--connect", socket, "--config", "none").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no valid token") {
		t.Errorf("without a token: %v %s", err, out)
	}

	// The browser exits, and starts again.
	p.in.Close()
	for range p.Events { // to the end of its output
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the host exited with %v", err)
	}
	p = openPanelPort(t, data)
	chats := p.Call("list", map[string]any{"query": "THIS PAGE"})["chats"].([]any)
	if len(chats) != 1 || chats[0].(map[string]any)["title"] != "What is this?" || chats[0].(map[string]any)["open"] != false {
		t.Fatalf("the chats are %v", chats)
	}
	if again := p.transcriptOf(chat); again != text && !strings.Contains(again, "press Buy") {
		t.Errorf("the transcript is %s", again)
	}
	if resumed := p.Call("open", map[string]any{"chat": chat, "url": "https://shop.example/"}); resumed["resumed"] != "replayed" {
		t.Errorf("resumed: %v", resumed)
	}
	if text := p.transcriptOf(chat); !strings.Contains(text, "cannot load earlier sessions") {
		t.Errorf("the transcript does not say that it is replayed: %s", text)
	}
	p.Call("rename", map[string]any{"chat": chat, "title": "Lamps"})
	if md := p.Call("export", map[string]any{"chat": chat})["markdown"].(string); !strings.Contains(md, "# Lamps") || !strings.Contains(md, "What is this?") {
		t.Errorf("the export is %s", md)
	}
	p.Call("delete", map[string]any{"chat": chat})
	if chats := p.Call("list", struct{}{})["chats"].([]any); len(chats) != 0 {
		t.Errorf("after deletion: %v", chats)
	}
	if entries, _ := os.ReadDir(filepath.Join(data, "chats", "principals")); len(entries) != 0 {
		t.Errorf("%d tokens are left", len(entries))
	}
}

// TestChatsOfOneBrowser checks that a second process gets a clear error, and that another extension
// gets none of the chats.
func TestChatsOfOneBrowser(t *testing.T) {
	t.Parallel() // it mainly waits
	data := filepath.Join(shortTempDir(t), "data")
	openPanelPort(t, data)
	for origin, want := range map[string]string{
		"chrome-extension://" + extension.ID() + "/":          "another browser uses the chats",
		"chrome-extension://" + strings.Repeat("a", 32) + "/": "",
	} {
		cmd := exec.Command(binary, "--data", data, "native-host", origin)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := nativemessage.Write(in, map[string]any{"v": wire.Version, "type": "chats", "installation": "ours"}); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.Output()
		if err == nil {
			t.Errorf("%s: the program exited with 0", origin)
		}
		if want == "" && len(out) > 0 || !strings.Contains(string(out), want) {
			t.Errorf("%s: the answer is %q, want %q", origin, out, want)
		}
	}
}

// shortTempDir returns a temporary directory whose path leaves room for that of a socket.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chats")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
