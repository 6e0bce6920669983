package sidepanel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/agents"
	"github.com/chrome-mcp/chrome-mcp/internal/chat"
	"github.com/chrome-mcp/chrome-mcp/internal/nativemessage"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/acpagent"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/panelport"
	"github.com/chrome-mcp/chrome-mcp/internal/transcript"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

func TestMain(m *testing.M) {
	acpagent.Handle()
	os.Exit(leakcheck.Run(m))
}

// fakeServer is an MCP server that no agent connects to.
type fakeServer struct {
	mu      sync.Mutex // guards the fields below
	allowed []string
	stopped []bool // the values that were set
	closed  bool
}

func (*fakeServer) Port() int              { return 38_100 }
func (*fakeServer) Server() chat.MCPServer { return chat.MCPServer{Command: "/bin/true"} }
func (*fakeServer) SiteOf(title string) string {
	if strings.Contains(title, "navigate") {
		return "shop.example"
	}
	return ""
}

func (f *fakeServer) Allow(url string) (revoke func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.allowed = append(f.allowed, url)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.allowed = slices.DeleteFunc(f.allowed, func(u string) bool { return u == url })
	}, nil
}

func (f *fakeServer) SetStopped(stopped bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = append(f.stopped, stopped)
}

func (f *fakeServer) wantStopped(t *testing.T, when string, want ...bool) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.stopped, want) {
		t.Errorf("%s: stopped was set to %v, want %v", when, f.stopped, want)
	}
}

func (f *fakeServer) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

// A panel is the extension's end of a host.
type panel struct {
	*panelport.Port
	t      *testing.T
	data   string
	in     *io.PipeWriter
	served chan error

	mu   sync.Mutex             // guards tabs
	tabs map[string]*fakeServer // by chat
}

// newData returns a data directory with agents that run the scripted agent, each with arguments.
func newData(t *testing.T, all map[string][]string) string {
	t.Helper()
	data := t.TempDir()
	for name, args := range all {
		if err := agents.Add(data, agents.Agent{Name: name, Command: acpagent.Command(args...)}); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// start starts a host with the chats of a data directory.
func start(t *testing.T, data string) *panel {
	t.Helper()
	store, err := transcript.Open(filepath.Join(data, "chats.db"))
	if err != nil {
		t.Fatal(err)
	}
	in, toHost := io.Pipe()
	fromHost, out := io.Pipe()
	p := &panel{t: t, data: data, in: toHost, served: make(chan error, 1), tabs: map[string]*fakeServer{}}
	go func() {
		err := Serve(in, out, func(string) (Options, error) {
			return Options{DataDir: data, ChatsDir: data, Store: store, OpenServer: p.openServer, Logger: slog.New(slog.DiscardHandler)}, nil
		})
		out.Close()
		if e := store.Close(); err == nil {
			err = e
		}
		p.served <- err
	}()
	p.Port = panelport.Open(t, toHost, fromHost)
	t.Cleanup(func() {
		p.stop()
		for range p.Events { // to the end of the output
		}
	})
	return p
}

// stop ends the host, as the exit of the browser does.
func (p *panel) stop() {
	p.t.Helper()
	p.in.Close()
	if err := await.Receive(p.t, "the host to end", p.served); err != nil {
		p.t.Errorf("the host returned %v", err)
	}
	p.served <- nil // for a later call
}

func (p *panel) openServer(_ context.Context, id, _ string) (TabServer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tabs[id] = new(fakeServer)
	return p.tabs[id], nil
}

// server returns the MCP server of a chat.
func (p *panel) server(chat string) *fakeServer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tabs[chat]
}

// open opens a chat, and returns its id.
func (p *panel) open(agent string) string {
	p.t.Helper()
	return p.Call("new", map[string]any{"agent": agent, "url": "https://shop.example/"})["chat"].(map[string]any)["id"].(string)
}

func (p *panel) prompt(chat string, lines ...string) <-chan map[string]any {
	p.t.Helper()
	return p.Send("prompt", map[string]any{"chat": chat, "text": strings.Join(lines, "\n")})
}

// until waits for an event of a chat.
func (p *panel) until(event, chat string, matches func(map[string]any) bool) map[string]any {
	p.t.Helper()
	return p.Until(event, func(e map[string]any) bool {
		return e["event"] == event && e["chat"] == chat && (matches == nil || matches(e))
	})
}

// says waits until the agent of a chat has said a text.
func (p *panel) says(chat, text string) {
	p.t.Helper()
	p.Until("the agent says "+text, func(e map[string]any) bool {
		said := e["text"]
		if entry, ok := e["entry"].(map[string]any); ok && entry["kind"] == "agent" {
			said = entry["text"]
		}
		return e["chat"] == chat && said != nil && strings.Contains(said.(string), text)
	})
}

// texts returns the kinds and texts of the stored entries.
func (p *panel) texts(chat string) string {
	p.t.Helper()
	var b strings.Builder
	for i, e := range p.Call("read", map[string]any{"chat": chat, "limit": 500})["entries"].([]any) {
		entry := e.(map[string]any)
		if entry["seq"] != float64(i+1) {
			p.t.Errorf("entry %d has the seq %v", i+1, entry["seq"])
		}
		fmt.Fprintf(&b, "%v: %v\n", entry["kind"], entry["text"])
	}
	return b.String()
}

// TestTwoChats checks that two agents run turns at the same time, and that no event or entry of one
// chat is in the other.
func TestTwoChats(t *testing.T) {
	p := start(t, newData(t, map[string][]string{"a": nil, "b": nil}))
	a, b := p.open("a"), p.open("b")
	turns := []<-chan map[string]any{p.prompt(a, "repeat 200 say a#."), p.prompt(b, "repeat 200 say b#.")}
	for _, turn := range turns {
		if result, failure := p.Answer(turn); failure != "" || result["stop"] != "end_turn" {
			t.Errorf("a turn ended with %v %s", result, failure)
		}
	}
	shown := map[string]string{} // what a panel shows that follows the events
	for len(p.Events) > 0 {
		e := <-p.Events
		switch e["event"] {
		case "entry":
			entry := e["entry"].(map[string]any)
			if entry["kind"] == "agent" {
				shown[e["chat"].(string)] = entry["text"].(string)
			}
		case "append":
			id := e["chat"].(string)
			if at := int(e["at"].(float64)); at != len(shown[id]) { // the text is ASCII
				t.Errorf("%q is appended at %d, want %d", e["text"], at, len(shown[id]))
			}
			shown[id] += e["text"].(string)
		}
	}
	for chat, name := range map[string]string{a: "a", b: "b"} {
		want := strings.TrimSpace(firstPrompt) // the agent repeats other text
		for i := range 200 {
			want += fmt.Sprintf("%s%d.", name, i)
		}
		if shown[chat] != want {
			t.Errorf("the events of %s show %q", name, shown[chat])
		}
		if text := p.texts(chat); !strings.Contains(text, "agent: "+want+"\n") {
			t.Errorf("the transcript of %s is %s", name, text)
		}
	}
}

// TestAgentExits checks that an agent that exits during a turn, or floods its client, ends its own
// chat with a message, and nothing else.
func TestAgentExits(t *testing.T) {
	p := start(t, newData(t, map[string][]string{"a": nil}))
	other := p.open("a")
	for line, want := range map[string]string{
		"exit 3":        "exited: exit status 3",
		"flood raw {}{": "",
	} {
		chat := p.open("a")
		_, failure := p.Answer(p.prompt(chat, "say before", line))
		if failure == "" {
			t.Errorf("%s: the turn did not fail", line)
		}
		closed := p.until("closed", chat, nil)
		if message := closed["message"].(string); message == "" || !strings.Contains(message, want) {
			t.Errorf("%s: the message is %q", line, message)
		}
		if text := p.texts(chat); !strings.Contains(text, "before\nnotice: agent a") {
			t.Errorf("%s: the transcript is %s", line, text)
		}
		p.Fails("BAD_ARGS", "the chat is not open", "prompt", map[string]any{"chat": chat, "text": "hello"})
		tabs := p.server(chat)
		if tabs.mu.Lock(); !tabs.closed {
			t.Errorf("%s: the tabs are not closed", line)
		}
		tabs.mu.Unlock()
	}
	if result := p.Call("prompt", map[string]any{"chat": other, "text": "say still here"}); result["stop"] != "end_turn" {
		t.Errorf("the other chat: %v", result)
	}
}

// TestResume checks that a chat continues after the browser exited: with the session of the agent if
// it can load it, otherwise with the transcript in the next prompt.
func TestResume(t *testing.T) {
	data := newData(t, map[string][]string{"loads": {"--load"}, "plain": nil})
	p := start(t, data)
	chats := map[string]string{}
	for _, agent := range []string{"loads", "plain"} {
		chats[agent] = p.open(agent)
		p.Call("prompt", map[string]any{"chat": chats[agent], "text": "say first answer"})
	}
	p.stop()

	p = start(t, data)
	for agent, want := range map[string]string{"loads": "loaded", "plain": "replayed"} {
		before := p.texts(chats[agent])
		if resumed := p.Call("open", map[string]any{"chat": chats[agent], "tab": 1, "url": "https://shop.example/"}); resumed["resumed"] != want {
			t.Errorf("%s: %v", agent, resumed)
		}
		if again := p.Call("open", map[string]any{"chat": chats[agent], "tab": 2, "url": "https://other.example/"}); again["resumed"] != "running" {
			t.Errorf("%s, again: %v", agent, again)
		}
		p.Call("prompt", map[string]any{"chat": chats[agent], "text": "blocks"})
		after := p.texts(chats[agent])
		if !strings.HasPrefix(after, before) {
			t.Errorf("%s: the transcript changed from %s to %s", agent, before, after)
		}
		if replayed := strings.Contains(strings.TrimPrefix(after, before), "first answer"); replayed != (want == "replayed") {
			t.Errorf("%s: the prompt contains the transcript: %v", agent, replayed)
		}
		if noticed := strings.Contains(after, "cannot load earlier sessions"); noticed != (want == "replayed") {
			t.Errorf("%s: the transcript says that it is replayed: %v", agent, noticed)
		}
		wantAllowed := func(want ...string) {
			t.Helper()
			tabs := p.server(chats[agent])
			tabs.mu.Lock()
			defer tabs.mu.Unlock()
			if !slices.Equal(tabs.allowed, want) {
				t.Errorf("%s: allowed %v, want %v", agent, tabs.allowed, want)
			}
		}
		wantAllowed("https://shop.example/", "https://other.example/")
		p.Call("remove", map[string]any{"chat": chats[agent], "tab": 1})
		wantAllowed("https://other.example/")
		p.Call("allow", map[string]any{"chat": chats[agent], "tab": 2, "url": "https://next.example/"})
		wantAllowed("https://next.example/")
	}
}

// TestDirectory checks that an agent starts in an empty directory of its chat, which is removed with the
// chat, also if the store deletes that to free space.
func TestDirectory(t *testing.T) {
	data := newData(t, map[string][]string{"a": nil})
	p := start(t, data)
	var dirs, chats []string
	for range 2 {
		chat := p.open("a")
		dir := filepath.Join(data, "work", chat)
		p.prompt(chat, "dir")
		p.says(chat, dir)
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("the directory has %v, %v", entries, err)
		}
		dirs, chats = append(dirs, dir), append(chats, chat)
	}
	p.Call("delete", map[string]any{"chat": chats[0]})
	(&host{out: io.Discard, opts: Options{Logger: slog.New(slog.DiscardHandler)}}).removed(transcript.Chat{ID: chats[1], Dir: dirs[1]})
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("directory %s of a deleted chat: %v", dir, err)
		}
	}
}

// TestResumeAfterFailedTurn checks that a chat whose first turn failed keeps its title, and continues with
// its transcript, and that the transcript of a chat without a message has no notice about it.
func TestResumeAfterFailedTurn(t *testing.T) {
	p := start(t, newData(t, map[string][]string{"a": nil}))
	chat, empty := p.open("a"), p.open("a")
	if _, failure := p.Answer(p.prompt(chat, "say before", "exit 3")); failure == "" {
		t.Error("the turn did not fail")
	}
	p.until("closed", chat, nil)
	p.Call("close", map[string]any{"chat": empty})
	for _, id := range []string{chat, empty} {
		p.Call("open", map[string]any{"chat": id, "tab": 1, "url": "https://shop.example/"})
		if noticed := strings.Contains(p.texts(id), "cannot load earlier sessions"); noticed != (id == chat) {
			t.Errorf("the transcript says that it is replayed: %v", noticed)
		}
		before := p.texts(id)
		p.Call("prompt", map[string]any{"chat": id, "text": "blocks"})
		after := strings.TrimPrefix(p.texts(id), before)
		if replayed := strings.Contains(after, "transcript-") && strings.Contains(after, "exit 3"); replayed != (id == chat) {
			t.Errorf("the prompt contains the transcript: %v", replayed)
		}
		if !strings.Contains(after, strings.TrimSpace(firstPrompt)) {
			t.Errorf("the prompt does not explain the tools: %s", after)
		}
	}
	for _, c := range p.Call("list", nil)["chats"].([]any) {
		if c := c.(map[string]any); c["id"] == chat && c["title"] != "say before" {
			t.Errorf("the title is %q", c["title"])
		}
	}
}

// TestPermissionAnswer checks that an answer reaches the agent, and that the entry then has it.
func TestPermissionAnswer(t *testing.T) {
	p := start(t, newData(t, map[string][]string{"a": nil}))
	chat := p.open("a")
	turn := p.prompt(chat, "ask 1 rm -rf /")
	asked := p.until("entry", chat, func(e map[string]any) bool { return e["entry"].(map[string]any)["kind"] == "permission" })
	permission := asked["entry"].(map[string]any)["permission"].(map[string]any)
	if !strings.Contains(permission["detail"].(string), "rm -rf /") {
		t.Errorf("the request shows %v", permission)
	}
	option := permission["options"].([]any)[0].(map[string]any)
	if option["kind"] != "allow_once" {
		t.Errorf("the first option is %v", option)
	}
	p.Fails("BAD_ARGS", "has no option", "answer", map[string]any{"chat": chat, "request": permission["request"], "option": "none"})
	p.Call("answer", map[string]any{"chat": chat, "request": permission["request"], "option": option["id"]})
	if _, failure := p.Answer(turn); failure != "" {
		t.Error(failure)
	}
	read, _ := json.Marshal(p.Call("read", map[string]any{"chat": chat, "limit": 10}))
	if !strings.Contains(string(read), fmt.Sprintf(`"chosen":%q`, option["id"])) {
		t.Errorf("the transcript does not have the answer: %s", read)
	}
}

// TestStopStopsCalls checks that an agent cannot use the tabs from the moment in which the user stops its
// turn until its next turn, also if it ignores that.
func TestStopStopsCalls(t *testing.T) {
	p := start(t, newData(t, map[string][]string{"a": nil}))
	chat := p.open("a")
	tabs := p.server(chat)
	turn := p.prompt(chat, "say first", "hang")
	p.says(chat, "first")
	tabs.wantStopped(t, "in a turn", false)
	p.Call("cancel", map[string]any{"chat": chat})
	tabs.wantStopped(t, "after the stop", false, true)
	if result := p.Result(turn); result["stop"] != "cancelled" {
		t.Errorf("the stopped turn ended with %v", result)
	}
	p.Call("cancel", map[string]any{"chat": chat}) // no turn is in progress
	tabs.wantStopped(t, "before the next turn", false, true)

	turn = p.prompt(chat, "say second", "deaf")
	p.says(chat, "second")
	tabs.wantStopped(t, "in the next turn", false, true, false)
	p.Call("cancel", map[string]any{"chat": chat}) // the agent ignores it
	tabs.wantStopped(t, "after the second stop", false, true, false, true)
	if result := p.Result(turn); result["stop"] != "cancelled" {
		t.Errorf("the turn of an agent that ignores the stop ended with %v", result)
	}
}

// TestStopBeforeTurn checks that the calls of an agent stay rejected if the user stops a turn that has not
// begun, because the agent still works on the previous one.
func TestStopBeforeTurn(t *testing.T) {
	tabs := new(fakeServer)
	h, c := &host{}, &openChat{server: tabs}
	h.allowCalls(c)
	tabs.wantStopped(t, "after the stop")
	c.stop = func() {}
	h.allowCalls(c)
	tabs.wantStopped(t, "in a turn", false)
}

// TestEndDuringWork checks that chats can be closed and deleted, and the browser can exit, during a
// turn and during the start of an agent.
func TestEndDuringWork(t *testing.T) {
	p := start(t, newData(t, map[string][]string{"a": nil, "slow": {"--hang=session/new"}}))
	chat := p.open("a")
	turn := p.prompt(chat, "say working", "hang")
	p.until("append", chat, func(e map[string]any) bool { return e["text"] == "working" })
	p.Call("close", map[string]any{"chat": chat})
	if _, failure := p.Answer(turn); failure == "" {
		t.Error("the turn of the closed chat did not fail")
	}
	if closed := p.until("closed", chat, nil); closed["message"] != "" {
		t.Errorf("closed: %v", closed)
	}

	chat = p.open("a")
	p.prompt(chat, "say working", "hang")
	p.until("append", chat, func(e map[string]any) bool { return e["text"] == "working" })
	p.Call("delete", map[string]any{"chat": chat})
	p.Fails("BAD_ARGS", "no such chat", "read", map[string]any{"chat": chat, "limit": 1})
	if _, err := os.Stat(filepath.Join(p.data, "work", chat)); err == nil {
		t.Error("the directory of the deleted chat is left")
	}

	chat = p.open("a")
	p.prompt(chat, "say working", "hang")
	p.until("append", chat, func(e map[string]any) bool { return e["text"] == "working" })
	starting := p.Send("new", map[string]any{"agent": "slow", "url": ""})
	p.Call("list", struct{}{}) // the host has received both
	p.stop()                   // goleak checks that nothing is left
	if _, failure := p.Answer(starting); failure == "" {
		t.Error("a chat was opened after the browser had exited")
	}
}

// TestLimits checks the limits of the host.
func TestLimits(t *testing.T) {
	p := start(t, newData(t, map[string][]string{"a": nil}))
	chat := p.open("a")
	p.Fails("UNKNOWN_METHOD", "unknown method", "run", struct{}{})
	p.Fails("BAD_ARGS", "malformed parameters of list", "list", []int{1})
	p.Fails("BAD_ARGS", "longer than 64 KiB", "prompt", map[string]any{"chat": chat, "text": strings.Repeat("x", 65<<10)})
	p.Fails("BAD_ARGS", "longer than 64 KiB", "prompt", map[string]any{"chat": chat, "text": "x", "quote": map[string]any{"text": strings.Repeat("x", 65<<10)}})
	// A request that is too long ends no chat. Its id is at the beginning.
	p.Fails("BAD_ARGS", "too long", "rename", map[string]any{"chat": chat, "title": strings.Repeat("x", maxRequest)})
	for range maxOpen - 1 {
		p.open("a")
	}
	p.Fails("BACKPRESSURE", "8 chats are open", "new", map[string]any{"agent": "a", "url": ""})

	// A response has at most 1 MiB, whatever the entries contain.
	p.Call("prompt", map[string]any{"chat": chat, "text": strings.Repeat("\\\"<", 20_000)})
	for range 9 {
		p.Call("prompt", map[string]any{"chat": chat, "text": strings.Repeat("\"<\\", 20_000)})
	}
	before, read := int64(0), 0
	for more := true; more; {
		r := p.Call("read", map[string]any{"chat": chat, "before": before, "limit": 500})
		entries := r["entries"].([]any)
		read += len(entries)
		more = r["more"].(bool)
		before = int64(entries[0].(map[string]any)["seq"].(float64))
	}
	if before != 1 || read < 20 {
		t.Errorf("%d entries from %d were read", read, before)
	}

	// An exported chat is as long as it is.
	var exported strings.Builder
	for from := any(map[string]any{}); from != nil; {
		part := p.Call("export", map[string]any{"chat": chat, "from": from})
		exported.WriteString(part["markdown"].(string))
		from = part["next"]
	}
	if n := strings.Count(exported.String(), strings.Repeat("\"<\\", 20_000)); n < 18 || exported.Len() < 1<<20 {
		t.Errorf("the exported chat has %d bytes, and %d of 18 texts", exported.Len(), n)
	}
}

// TestWrongVersion checks that an extension of another version gets an error.
func TestWrongVersion(t *testing.T) {
	in, out := io.Pipe()
	from, to := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(in, to, func(string) (Options, error) {
			t.Error("the chats were opened")
			return Options{}, nil
		})
	}()
	if err := nativemessage.Write(out, Hello{V: wire.Version + 1, Type: HelloType}); err != nil {
		t.Fatal(err)
	}
	var hello Hello
	if err := nativemessage.Read(from, nativemessage.MaxToBrowser, &hello); err != nil || hello.Error == "" {
		t.Errorf("the answer is %v, %v", hello, err)
	}
	if err := <-served; err == nil {
		t.Error("Serve returned no error")
	}
}
