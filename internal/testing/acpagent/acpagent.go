// Package acpagent is an agent of the Agent Client Protocol for tests. It does what the prompt says
// and uses no library for the protocol, so that it can also break it.
//
// Each line of a prompt, except for the transcript of a resumed chat, is an instruction:
//
//	say TEXT              part of a message; TEXT may be a quoted Go string
//	long N                part of a message with N bytes
//	think TEXT            part of a thought
//	block JSON            part of a message: a content block
//	tool ID KIND TITLE    a tool call begins
//	input ID JSON         the input of a tool call
//	update ID STATUS TEXT the status and the output of a tool call
//	plan STEP;STEP        a plan
//	ask ID COMMAND        a permission request to run a command; says the outcome
//	asks ID JSON          a permission request with another input
//	request METHOD JSON   a request to the client; SESSION in JSON is the session id; says the result
//	notify METHOD JSON    a notification
//	raw TEXT              a line of output; TEXT may be a quoted Go string
//	repeat N INSTRUCTION  # in INSTRUCTION is the number of the repetition
//	flood INSTRUCTION     repeats INSTRUCTION until the process ends
//	usage IN OUT          the usage of tokens in the response
//	context USED SIZE     the usage of the context
//	stop REASON           the stop reason of the response
//	fail CODE TEXT        an error instead of the response
//	now                   says the time in nanoseconds since 1970
//	env NAME              says an environment variable
//	dir                   says the working directory
//	servers               says the MCP servers of the session, as JSON
//	call TOOL JSON        calls a tool of the MCP server of the session; says the text of the result
//	results               says the texts of the results of all calls
//	blocks                says the blocks of the prompt, as JSON
//	mode                  says the current mode
//	child                 starts a process that does not end, and says its pid
//	stderr TEXT           writes to the standard error
//	hang                  waits for session/cancel, then ends the turn
//	deaf                  waits for session/cancel and ignores it: waits for the next one too
//	exit CODE             ends the process
//
// A prompt without instructions is repeated as a message. Arguments of the process:
//
//	--load            sessions can be loaded; the history of one is "earlier"
//	--load-fails      loading a session is an error
//	--resume          sessions can be resumed without their history
//	--embed           prompts may contain resources
//	--protocol=N      the version of the protocol
//	--modes=A,B       modes of a session, the first is the current one
//	--config-modes    modes are a configuration option
//	--login           new sessions need a login
//	--hang=METHOD     a method is not answered
//	--banner          writes text to the standard output before anything else
//	--stays           does not exit at the end of its input
package acpagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// argument is the first argument with which a test binary becomes the agent.
const argument = "acp-agent"

// Command returns the command of an agent that is the running test binary, whose TestMain calls
// [Handle].
func Command(args ...string) []string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{path, argument}, args...)
}

// Handle runs the agent and exits if this process was started with [Command].
func Handle() {
	if len(os.Args) > 1 && os.Args[1] == argument {
		Main(os.Args[2:])
	}
}

// Main runs the agent on the standard input and output, and exits.
func Main(args []string) {
	a := &agent{args: args, out: os.Stdout, pending: map[string]chan message{}, cancels: make(chan struct{}, 16)}
	if a.has("--banner") {
		fmt.Fprintln(a.out, "Welcome to the agent!\n{}")
	}
	a.serve(os.Stdin)
	if a.has("--stays") {
		if r, _, err := os.Pipe(); err == nil {
			_, _ = r.Read(make([]byte, 1))
		}
	}
	os.Exit(0)
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type agent struct {
	args    []string
	servers json.RawMessage
	tools   *toolServer // nil before the first call
	results []string    // of calls
	mode    string
	cancels chan struct{}

	mu      sync.Mutex // protects the fields below
	out     io.Writer
	nextID  int
	pending map[string]chan message
}

func (a *agent) has(flag string) bool { return slices.Contains(a.args, flag) }

// value returns the value of an argument.
func (a *agent) value(flag string) string {
	for _, arg := range a.args {
		if v, ok := strings.CutPrefix(arg, flag+"="); ok {
			return v
		}
	}
	return ""
}

// serve answers the messages of the client.
func (a *agent) serve(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintf(os.Stderr, "the client sent %q: %v\n", line, err)
			os.Exit(9)
		}
		switch {
		case m.Method == "":
			a.mu.Lock()
			reply := a.pending[string(m.ID)]
			delete(a.pending, string(m.ID))
			a.mu.Unlock()
			if reply != nil {
				reply <- m
			}
		case m.Method == "session/cancel":
			a.cancels <- struct{}{}
		case m.Method == "session/prompt":
			go a.prompt(m)
		case m.ID != nil && a.value("--hang") != m.Method:
			a.answer(m)
		}
	}
}

// SessionID is the id of each session.
const SessionID = "session-1"

// answer answers a request except for a prompt.
func (a *agent) answer(m message) {
	var params struct {
		MCPServers json.RawMessage `json:"mcpServers"`
		ModeID     string          `json:"modeId"`
		Value      string          `json:"value"`
	}
	_ = json.Unmarshal(m.Params, &params)
	switch m.Method {
	case "initialize":
		version := 1
		if v := a.value("--protocol"); v != "" {
			version, _ = strconv.Atoi(v)
		}
		session := map[string]any{}
		if a.has("--resume") {
			session["resume"] = map[string]any{}
		}
		a.result(m.ID, map[string]any{
			"protocolVersion": version,
			"agentInfo":       map[string]any{"name": "test-agent", "title": "Test Agent", "version": "1.2.3"},
			"agentCapabilities": map[string]any{
				"loadSession":         a.has("--load") || a.has("--load-fails"),
				"promptCapabilities":  map[string]any{"embeddedContext": a.has("--embed")},
				"sessionCapabilities": session,
			},
			"authMethods": []any{map[string]any{"id": "login", "name": "Log in with the program"}},
		})
	case "session/new", "session/load", "session/resume":
		switch {
		case a.has("--login"):
			a.fail(m.ID, -32000, "Authentication required")
			return
		case m.Method != "session/new" && a.has("--load-fails"):
			a.fail(m.ID, -32002, "Resource not found")
			return
		}
		a.servers = params.MCPServers
		if m.Method == "session/load" {
			a.update(chunk("user_message_chunk", "earlier"))
			a.update(chunk("agent_message_chunk", "earlier"))
		}
		a.result(m.ID, a.session())
	case "session/set_mode", "session/set_config_option":
		a.mode = params.ModeID + params.Value
		a.result(m.ID, map[string]any{})
	default:
		a.fail(m.ID, -32601, "Method not found")
	}
}

// session returns the result for a new session.
func (a *agent) session() map[string]any {
	session := map[string]any{"sessionId": SessionID}
	if a.value("--modes") == "" {
		return session
	}
	names := strings.Split(a.value("--modes"), ",")
	a.mode = names[0]
	var modes []any
	for _, name := range names {
		modes = append(modes, map[string]any{"id": name, "value": name, "name": name})
	}
	if a.has("--config-modes") {
		session["configOptions"] = []any{map[string]any{
			"type": "select", "id": "permissions", "name": "Mode", "category": "mode", "currentValue": a.mode, "options": modes,
		}}
	} else {
		session["modes"] = map[string]any{"currentModeId": a.mode, "availableModes": modes}
	}
	return session
}

// prompt does what a prompt says, and answers it.
func (a *agent) prompt(m message) {
	var params struct {
		Prompt []json.RawMessage `json:"prompt"`
	}
	_ = json.Unmarshal(m.Params, &params)
	for len(a.cancels) > 0 {
		<-a.cancels
	}
	t := &turn{agent: a, result: map[string]any{"stopReason": "end_turn"}}
	t.blocks, _ = json.Marshal(params.Prompt)
	for _, block := range params.Prompt {
		var text struct{ Text string }
		_ = json.Unmarshal(block, &text)
		if strings.Contains(text.Text, "</transcript-") {
			continue // as the text before the transcript demands
		}
		for line := range strings.Lines(text.Text) {
			t.do(strings.TrimSuffix(line, "\n"))
		}
	}
	if t.code != 0 {
		a.fail(m.ID, t.code, t.message)
	} else {
		a.result(m.ID, t.result)
	}
}

// A turn is the work for one prompt.
type turn struct {
	agent   *agent
	blocks  json.RawMessage
	result  map[string]any
	code    int // of an error
	message string
}

// do follows one instruction.
func (t *turn) do(line string) {
	a := t.agent
	word, rest, _ := strings.Cut(line, " ")
	first, more, _ := strings.Cut(rest, " ")
	switch word {
	case "say":
		a.say(unquote(rest))
	case "long":
		n, _ := strconv.Atoi(rest)
		a.say(strings.Repeat("x", n))
	case "think":
		a.update(chunk("agent_thought_chunk", unquote(rest)))
	case "block":
		a.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": json.RawMessage(rest)})
	case "tool":
		kind, title, _ := strings.Cut(more, " ")
		a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": first, "kind": kind, "title": unquote(title), "status": "pending"})
	case "input":
		a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": first, "rawInput": json.RawMessage(more)})
	case "update":
		status, text, _ := strings.Cut(more, " ")
		a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": first, "status": status, "content": []any{
			map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": unquote(text)}},
		}})
	case "plan":
		var entries []any
		for step := range strings.SplitSeq(rest, ";") {
			entries = append(entries, map[string]any{"content": step, "status": "pending", "priority": "medium"})
		}
		a.update(map[string]any{"sessionUpdate": "plan", "entries": entries})
	case "ask":
		input, _ := json.Marshal(map[string]any{"command": unquote(more)})
		a.say("outcome " + a.ask(first, input))
	case "asks":
		a.say("outcome " + a.ask(first, json.RawMessage(more)))
	case "request":
		a.say("result " + a.request(first, json.RawMessage(strings.ReplaceAll(more, "SESSION", SessionID))))
	case "notify":
		a.send(message{Method: first, Params: json.RawMessage(strings.ReplaceAll(more, "SESSION", SessionID))})
	case "raw":
		a.write([]byte(unquote(rest) + "\n"))
	case "repeat":
		n, _ := strconv.Atoi(first)
		for i := range n {
			t.do(strings.ReplaceAll(more, "#", strconv.Itoa(i)))
		}
	case "flood":
		for {
			t.do(rest)
		}
	case "usage":
		input, _ := strconv.Atoi(first)
		output, _ := strconv.Atoi(more)
		t.result["usage"] = map[string]any{"inputTokens": input, "outputTokens": output, "totalTokens": input + output}
	case "context":
		used, _ := strconv.Atoi(first)
		size, _ := strconv.Atoi(more)
		a.update(map[string]any{"sessionUpdate": "usage_update", "used": used, "size": size})
	case "stop":
		t.result["stopReason"] = rest
	case "fail":
		t.code, _ = strconv.Atoi(first)
		t.message = more
	case "now":
		a.say(strconv.FormatInt(time.Now().UnixNano(), 10))
	case "env":
		a.say(rest + "=" + os.Getenv(rest))
	case "dir":
		dir, _ := os.Getwd()
		a.say(dir)
	case "servers":
		a.say(string(a.servers))
	case "call":
		text := a.call(first, json.RawMessage(more))
		a.results = append(a.results, text)
		a.say(text)
	case "results":
		a.say(strings.Join(a.results, "\n"))
	case "blocks":
		a.say(string(t.blocks))
	case "mode":
		a.say(a.mode)
	case "child":
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout = os.Stdout // it keeps the pipe open
		if err := cmd.Start(); err != nil {
			a.say(err.Error())
			return
		}
		a.say(strconv.Itoa(cmd.Process.Pid))
	case "stderr":
		fmt.Fprintln(os.Stderr, unquote(rest))
	case "hang":
		<-a.cancels
		t.result["stopReason"] = "cancelled"
	case "deaf":
		<-a.cancels
		a.say("too late")
		<-a.cancels
		t.result["stopReason"] = "cancelled"
	case "exit":
		code, _ := strconv.Atoi(rest)
		os.Exit(code)
	default:
		a.say(line)
	}
}

// unquote returns the value of a quoted Go string, or s.
func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

func chunk(kind, text string) map[string]any {
	return map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}}
}

func (a *agent) say(text string) { a.update(chunk("agent_message_chunk", text)) }

// update sends a session/update.
func (a *agent) update(update any) {
	params, err := json.Marshal(map[string]any{"sessionId": SessionID, "update": update})
	if err != nil {
		panic(err)
	}
	a.send(message{Method: "session/update", Params: params})
}

// ask sends a permission request and returns the chosen option.
func (a *agent) ask(id string, input json.RawMessage) string {
	var options []any
	for _, kind := range []string{"allow_always", "allow_once", "reject_always", "reject_once"} {
		options = append(options, map[string]any{"optionId": kind + "-id", "name": "Option " + kind, "kind": kind})
	}
	params, err := json.Marshal(map[string]any{
		"sessionId": SessionID, "options": options,
		"toolCall": map[string]any{"toolCallId": id, "title": "Run a command", "kind": "execute", "rawInput": input},
	})
	if err != nil {
		panic(err)
	}
	var reply struct {
		Outcome struct{ Outcome, OptionID string }
	}
	text := a.request("session/request_permission", params)
	if err := json.Unmarshal([]byte(text), &reply); err != nil || reply.Outcome.Outcome == "" {
		return text
	}
	return reply.Outcome.Outcome + reply.Outcome.OptionID
}

// request sends a request and returns its result or error.
func (a *agent) request(method string, params json.RawMessage) string {
	reply := make(chan message, 1)
	a.mu.Lock()
	a.nextID++
	id := strconv.Itoa(a.nextID)
	a.pending[id] = reply
	a.mu.Unlock()
	a.send(message{ID: json.RawMessage(id), Method: method, Params: params})
	m := <-reply
	if m.Error != nil {
		return string(m.Error)
	}
	return string(m.Result)
}

func (a *agent) result(id json.RawMessage, result any) {
	data, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	a.send(message{ID: id, Result: data})
}

func (a *agent) fail(id json.RawMessage, code int, text string) {
	data, err := json.Marshal(map[string]any{"code": code, "message": text})
	if err != nil {
		panic(err)
	}
	a.send(message{ID: id, Error: data})
}

func (a *agent) send(m message) {
	m.JSONRPC = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	a.write(append(data, '\n'))
}

func (a *agent) write(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.out.Write(data); err != nil {
		os.Exit(8) // the client is gone
	}
}
