package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/chrome-mcp/chrome-mcp/internal/transcript"
)

// Limits of what an entry contains, in bytes. A message of an agent that is longer continues in
// another entry.
const (
	maxMessage = 128 << 10
	maxDetail  = 64 << 10      // input and output of a tool call
	maxRequest = 2 * maxDetail // a permission request: its input and its content
)

// maxTools is the number of tool calls that can still change.
const maxTools = 1_000

// maxSteps bounds the steps of a plan.
const maxSteps = 100

// entries are the entries of a Chat that can still change.
type entries struct {
	last   int // key
	text   *message
	plan   int // key of the plan of the turn, or 0
	planAt int64
	tools  map[acp.ToolCallId]*toolCall
	order  []acp.ToolCallId // of tools, the oldest first

	unshown bool // whether the turn has the notice of noteUnshown
}

// A message is the text of an agent that is being received.
type message struct {
	key     int
	kind    string
	id      string // of the agent, may be empty
	at      int64
	text    strings.Builder
	cleaner cleaner
}

// A toolCall is a tool call of an agent.
type toolCall struct {
	key   int
	at    int64
	tool  transcript.Tool
	title string // in full; that of tool is short
	input json.RawMessage
}

// startTurn makes the next text, plan and notice of noteUnshown new entries.
func (e *entries) startTurn() { e.text, e.plan, e.unshown = nil, 0, false }

// add adds an entry and returns its key and its time. The caller has locked c.mu.
func (c *Chat) add(e transcript.Entry) (key int, at int64) {
	c.entries.last++
	c.entries.text = nil
	e.At = time.Now().UnixMilli()
	c.onEvent(Event{Key: c.entries.last, Entry: e})
	return c.entries.last, e.At
}

// handle handles a message of the agent: an update, or a request, which has its own goroutine.
func (c *Chat) handle(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	if method == acp.ClientMethodSessionUpdate {
		defer c.in.handled()
		var n acp.SessionNotification
		if err := json.Unmarshal(params, &n); err != nil {
			c.noteUnshown(params, err)
			return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if n.SessionId == c.session && c.session != "" && (c.turn == nil || !c.turn.abandoned) {
			c.update(&n.Update, params)
		}
		return nil, nil
	}
	defer c.in.answered()
	result, err := c.serve(ctx, method, params)
	if err == nil {
		return result, nil
	}
	c.log.Info("request of the agent denied", "method", short(method), "error", err.Message)
	return nil, err
}

// noteUnshown adds a notice to the turn if an update that cannot be decoded is one of those that are
// shown.
func (c *Chat) noteUnshown(params json.RawMessage, err error) {
	var n struct {
		SessionID acp.SessionId `json:"sessionId"`
		Update    struct {
			Kind string `json:"sessionUpdate"`
		} `json:"update"`
	}
	_ = json.Unmarshal(params, &n)
	c.log.Warn("invalid update of the agent", "kind", short(n.Update.Kind), "error", short(err.Error()))
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.SessionID != c.session || c.session == "" || c.turn == nil || c.turn.abandoned || c.entries.unshown {
		return
	}
	if slices.Contains([]string{"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"}, n.Update.Kind) {
		c.entries.unshown = true
		c.add(transcript.Entry{Kind: transcript.KindNotice, Text: "The agent sent something that cannot be shown, because it is invalid."})
	}
}

// serve answers a request of the agent. It calls c.in.handled when the next message may be handled.
func (c *Chat) serve(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	switch {
	case method == acp.ClientMethodSessionRequestPermission:
		return c.requestPermission(ctx, params)
	case method == acp.ClientMethodFsReadTextFile && c.agent.Files:
		defer c.in.handled()
		return c.readFile(params)
	case method == acp.ClientMethodFsWriteTextFile && c.agent.Files:
		defer c.in.handled()
		return c.writeFile(params)
	}
	c.in.handled()
	return nil, acp.NewMethodNotFound(method)
}

// rawInput returns the bytes of member rawInput of an object in params. The types of package acp
// decode numbers as float64, which changes large ones.
func rawInput(params json.RawMessage, object string) json.RawMessage {
	var outer map[string]json.RawMessage
	var inner struct {
		RawInput json.RawMessage `json:"rawInput"`
	}
	if json.Unmarshal(params, &outer) != nil || json.Unmarshal(outer[object], &inner) != nil || string(inner.RawInput) == "null" {
		return nil
	}
	return inner.RawInput
}

// update handles an update of the session. The caller has locked c.mu.
func (c *Chat) update(u *acp.SessionUpdate, params json.RawMessage) {
	switch {
	case u.AgentMessageChunk != nil:
		c.appendText(transcript.KindAgent, u.AgentMessageChunk.MessageId, &u.AgentMessageChunk.Content)
	case u.AgentThoughtChunk != nil:
		c.appendText(transcript.KindThought, u.AgentThoughtChunk.MessageId, &u.AgentThoughtChunk.Content)
	case u.ToolCall != nil:
		t := u.ToolCall
		c.updateTool(t.ToolCallId, &t.Title, &t.Kind, &t.Status, rawInput(params, "update"), t.Content, t.RawOutput, t.Locations)
	case u.ToolCallUpdate != nil:
		t := u.ToolCallUpdate
		c.updateTool(t.ToolCallId, t.Title, t.Kind, t.Status, rawInput(params, "update"), t.Content, t.RawOutput, t.Locations)
	case u.Plan != nil:
		c.setPlan(u.Plan.Entries)
	case u.CurrentModeUpdate != nil:
		c.noteMode(string(u.CurrentModeUpdate.CurrentModeId))
	case u.ConfigOptionUpdate != nil:
		if mode := modeOption(u.ConfigOptionUpdate.ConfigOptions); mode != nil {
			c.noteMode(string(mode.CurrentValue))
		}
	case u.UsageUpdate != nil && c.turn != nil:
		c.turn.context = &transcript.Usage{Context: max(u.UsageUpdate.Used, 0), Size: max(u.UsageUpdate.Size, 0)}
	}
	// A user message repeats the prompt. Commands, other options and titles are not shown, see
	// docs/side-panel.md.
}

// appendText appends content to the message of a kind, or starts one.
func (c *Chat) appendText(kind string, id *string, content *acp.ContentBlock) {
	var messageID string
	if id != nil {
		messageID = *id
	}
	m := c.entries.text
	if m == nil || m.kind != kind || m.id != messageID {
		m = &message{kind: kind, id: messageID}
	}
	text := m.cleaner.clean(contentText(content))
	for text != "" {
		if m.text.Len() >= maxMessage {
			cleaner := m.cleaner
			m = &message{kind: kind, id: messageID, cleaner: cleaner}
		}
		end := max(runeStart(text, maxMessage-m.text.Len()), min(len(text), 4)) // at least one character
		end = runeStart(text, end)
		c.appendPart(m, text[:end])
		text = text[end:]
	}
	if m.key != 0 {
		c.entries.text = m
	} else if m.cleaner.state != plain {
		c.entries.text = m // it began with an incomplete escape sequence
	}
}

// appendPart appends text to a message.
func (c *Chat) appendPart(m *message, text string) {
	m.text.WriteString(text)
	e := transcript.Entry{Kind: m.kind, Text: m.text.String()}
	if m.key == 0 {
		m.key, m.at = c.add(e)
		return
	}
	e.At = m.at
	c.onEvent(Event{Key: m.key, Entry: e, Append: text})
}

// contentText returns a content block as text. Package acp decodes a type that it does not know as another
// one.
func contentText(b *acp.ContentBlock) string {
	switch {
	case b.Text != nil && b.Text.Text == "" && b.Text.Type != "text":
		return unknownContent(b.Text.Type)
	case b.Text != nil:
		return b.Text.Text
	case b.ResourceLink != nil:
		return fmt.Sprintf("[%s](%s)", b.ResourceLink.Name, b.ResourceLink.Uri)
	case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
		return b.Resource.Resource.TextResourceContents.Text
	case b.Resource != nil:
		return "[file]"
	case b.Image != nil:
		return "[image]"
	case b.Audio != nil:
		return "[audio]"
	}
	return ""
}

// unknownContent returns the text for content of a type that is not known.
func unknownContent(kind string) string { return "[content of type " + short(kind) + "]" }

// toolContentText returns the content of a tool call as text. If that would be longer than limit bytes, it
// has only the size of what changed files had before.
func toolContentText(content []acp.ToolCallContent, limit int) string {
	text := joinToolContent(content, true)
	if len(text) > limit {
		text = joinToolContent(content, false)
	}
	return text
}

func joinToolContent(content []acp.ToolCallContent, withOld bool) string {
	var parts []string
	for _, c := range content {
		switch {
		case c.Content != nil && c.Content.Type != "content":
			parts = append(parts, unknownContent(c.Content.Type))
		case c.Content != nil:
			parts = append(parts, contentText(&c.Content.Content))
		case c.Diff != nil:
			// The prefix of each line shows what is there now, whatever the text is.
			parts = append(parts, oneLine(c.Diff.Path), prefixLines("+ ", c.Diff.NewText))
			switch old := c.Diff.OldText; {
			case old != nil && withOld:
				parts = append(parts, prefixLines("- ", *old))
			case old != nil: // without a prefix, so that no text of the file can look like it
				parts = append(parts, fmt.Sprintf("[replaces %d bytes, which are too long to show]", len(*old)))
			}
		case c.Terminal != nil:
			parts = append(parts, "[terminal "+oneLine(c.Terminal.TerminalId)+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// oneLine returns text with codes for its line breaks.
func oneLine(text string) string { return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text) }

func prefixLines(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix)
}

// setPlan adds the plan of the turn, or replaces it.
func (c *Chat) setPlan(steps []acp.PlanEntry) {
	e := transcript.Entry{Kind: transcript.KindPlan}
	for _, s := range steps[:min(len(steps), maxSteps)] {
		e.Plan = append(e.Plan, transcript.PlanStep{
			Text:     cutText(clean(s.Content), maxID),
			Status:   oneOf(string(s.Status), "pending", "in_progress", "completed"),
			Priority: oneOf(string(s.Priority), "medium", "high", "low"),
		})
	}
	if more := len(steps) - maxSteps; more > 0 {
		e.Plan = append(e.Plan, transcript.PlanStep{Text: fmt.Sprintf("[further steps: %d]", more), Status: "pending", Priority: "medium"})
	}
	if c.entries.plan == 0 {
		c.entries.plan, c.entries.planAt = c.add(e)
		return
	}
	e.At = c.entries.planAt
	c.onEvent(Event{Key: c.entries.plan, Entry: e})
}

// oneOf returns value if it is one of allowed, and otherwise the first of them.
func oneOf(value string, allowed ...string) string {
	if slices.Contains(allowed, value) {
		return value
	}
	return allowed[0]
}

// updateTool adds a tool call or changes it. Arguments that are nil or empty change nothing.
func (c *Chat) updateTool(id acp.ToolCallId, title *string, kind *acp.ToolKind, status *acp.ToolCallStatus,
	input json.RawMessage, content []acp.ToolCallContent, output any, locations []acp.ToolCallLocation) {
	if id == "" || len(id) > maxID {
		c.log.Warn("invalid id of a tool call", "id", short(string(id)))
		return
	}
	t := c.entries.tools[id]
	if t == nil {
		t = &toolCall{tool: transcript.Tool{ID: string(id), Kind: string(acp.ToolKindOther), Status: string(acp.ToolCallStatusPending)}}
	}
	if title != nil && *title != "" {
		t.setTitle(*title)
	}
	if kind != nil {
		t.tool.Kind = oneOf(string(*kind), "other", "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode")
	}
	if status != nil {
		t.tool.Status = oneOf(string(*status), "pending", "in_progress", "completed", "failed")
	}
	if input != nil {
		t.input = input
		t.tool.Input = cutText(indented(input), maxDetail)
		t.tool.Site = cmp.Or(siteOf(input), t.tool.Site)
	}
	if text := outputText(content, output); text != "" {
		t.tool.Output = cutText(clean(text), maxDetail)
	}
	if t.tool.Title == "" {
		t.setTitle(string(id))
		if len(locations) > 0 {
			t.setTitle(locations[0].Path)
		}
	}
	c.putTool(id, t)
}

// setTitle sets the title. Of one that is too long for a permission request, title has just
// enough to be too long.
func (t *toolCall) setTitle(title string) {
	t.tool.Title, t.title = short(title), strings.Clone(title[:min(len(title), maxRequest+1)])
}

// putTool stores a tool call and reports it.
func (c *Chat) putTool(id acp.ToolCallId, t *toolCall) {
	tool := t.tool
	e := transcript.Entry{Kind: transcript.KindTool, Tool: &tool}
	if t.key != 0 {
		e.At = t.at
		c.onEvent(Event{Key: t.key, Entry: e})
		return
	}
	if c.entries.tools == nil {
		c.entries.tools = map[acp.ToolCallId]*toolCall{}
	}
	if len(c.entries.order) == maxTools {
		delete(c.entries.tools, c.entries.order[0])
		c.entries.order = slices.Delete(c.entries.order, 0, 1)
	}
	c.entries.tools[id] = t
	c.entries.order = append(c.entries.order, id)
	t.key, t.at = c.add(e)
}

// failTools marks the tool calls that did not end as failed. The caller has locked c.mu.
func (c *Chat) failTools() {
	for _, id := range slices.Clone(c.entries.order) {
		if t := c.entries.tools[id]; t.tool.Status == "pending" || t.tool.Status == "in_progress" {
			t.tool.Status = "failed"
			c.putTool(id, t)
		}
	}
}

// indented returns JSON with line breaks, with characters that cannot be seen as escapes.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return visible(string(raw))
	}
	return visible(b.String())
}

// siteOf returns the site of member url of the input of a tool, or "".
func siteOf(input json.RawMessage) string {
	var args struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(input, &args) != nil {
		return ""
	}
	u, err := url.Parse(args.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return visible(u.Host)
}

// outputText returns the output of a tool call as text, or "".
func outputText(content []acp.ToolCallContent, raw any) string {
	if text := toolContentText(content, maxDetail); text != "" || raw == nil {
		return text
	}
	if text, ok := raw.(string); ok {
		return text
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return ""
	}
	return string(data)
}

// sortedKeys returns the names of the members of a JSON object, or nil.
func sortedKeys(raw json.RawMessage) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(object))
}
