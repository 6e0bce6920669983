package chat

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/transcript"
)

// maxOptions bounds the options of a permission request.
const maxOptions = 16

// permissions are the permission requests without an answer.
type permissions struct {
	pending map[string]*permission
}

// A permission is a permission request without an answer.
type permission struct {
	key    int
	at     int64
	entry  transcript.Permission
	answer chan string // gets the id of an option, or ""
}

// requestPermission asks the user and waits for the answer.
func (c *Chat) requestPermission(ctx context.Context, params json.RawMessage) (any, *acp.RequestError) {
	p, err := c.ask(params)
	c.in.handled()
	if err != nil {
		return nil, err
	}
	canceled := acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}
	if p == nil {
		return canceled, nil
	}
	select {
	case option := <-p.answer:
		if option != "" {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(option))}, nil
		}
	case <-ctx.Done(): // the agent withdrew the request, or is gone
		c.mu.Lock()
		c.resolve(p, "")
		c.mu.Unlock()
	}
	return canceled, nil
}

// ask adds a permission request to the transcript. It returns nil if the request is canceled
// without asking.
func (c *Chat) ask(params json.RawMessage) (*permission, *acp.RequestError) {
	var r acp.RequestPermissionRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.SessionId != c.session || c.session == "":
		return nil, acp.NewInvalidParams(map[string]any{"error": "unknown session"})
	case c.turn == nil || c.turn.abandoned || isClosed(c.turn.canceled):
		return nil, nil // the user does not expect it
	}
	options := optionsOf(r.Options)
	if len(options) == 0 {
		c.log.Warn("permission request without a valid option")
		return nil, nil
	}
	title, detail := c.entries.describe(&r.ToolCall, rawInput(params, "toolCall"))
	if len(detail) > maxRequest {
		c.add(transcript.Entry{Kind: transcript.KindNotice, Text: fmt.Sprintf(
			"A permission request of the agent (%s) was canceled: it is too long to show.", title)})
		return nil, nil
	}
	p := &permission{
		// The id is random, because the panel can show an unanswered request of an earlier process.
		entry:  transcript.Permission{Request: rand.Text(), Title: title, Detail: detail, Options: options},
		answer: make(chan string, 1),
	}
	if c.asked.pending == nil {
		c.asked.pending = map[string]*permission{}
	}
	c.asked.pending[p.entry.Request] = p
	entry := p.entry
	p.key, p.at = c.add(transcript.Entry{Kind: transcript.KindPermission, Permission: &entry})
	return p, nil
}

// optionOrder are the kinds of options in the order in which the user sees them. "Always" is not the
// first.
var optionOrder = []string{"allow_once", "reject_once", "reject_always", "allow_always"}

// optionsOf returns the valid options of a permission request, sorted.
func optionsOf(all []acp.PermissionOption) []transcript.Option {
	var options []transcript.Option
	for _, o := range all {
		id, kind := string(o.OptionId), string(o.Kind)
		if id == "" || len(id) > maxID || !slices.Contains(optionOrder, kind) || len(options) == maxOptions ||
			slices.ContainsFunc(options, func(other transcript.Option) bool { return other.ID == id }) {
			continue
		}
		options = append(options, transcript.Option{ID: id, Name: short(o.Name), Kind: kind})
	}
	slices.SortStableFunc(options, func(x, y transcript.Option) int {
		return cmp.Compare(slices.Index(optionOrder, x.Kind), slices.Index(optionOrder, y.Kind))
	})
	return options
}

// describe returns the title of a permission request, and exactly what it is about. What the request
// does not contain is that of the tool call.
func (e *entries) describe(call *acp.ToolCallUpdate, input json.RawMessage) (title, detail string) {
	var whole string
	if t := e.tools[call.ToolCallId]; t != nil {
		title, whole = t.tool.Title, t.title
		if input == nil {
			input = t.input
		}
	}
	if call.Title != nil && *call.Title != "" {
		title, whole = short(*call.Title), *call.Title
	}
	var parts []string
	if input != nil {
		parts = append(parts, inputDetail(input))
	}
	for _, l := range call.Locations {
		if path := visible(oneLine(l.Path)); !strings.Contains(strings.Join(parts, "\n"), path) {
			parts = append(parts, path)
		}
	}
	detail = strings.Join(parts, "\n")
	if content := visible(toolContentText(call.Content, maxDetail)); !strings.Contains(detail, content) {
		detail = strings.TrimPrefix(detail+"\n"+content, "\n")
	}
	// Some agents send a command only as the title.
	whole = visible(strings.TrimSpace(whole))
	if (whole != title || utf8.RuneCountInString(whole) > maxShort) && !strings.Contains(detail, whole) {
		detail = strings.TrimSuffix(whole+"\n"+detail, "\n")
	}
	return cmp.Or(title, "The agent asks for permission"), detail
}

// inputDetail returns the command if the input of a tool call contains nothing else, except for a
// description, and otherwise the input as JSON.
func inputDetail(input json.RawMessage) string {
	keys := slices.DeleteFunc(sortedKeys(input), func(key string) bool { return key == "description" })
	if len(keys) == 1 && keys[0] == "command" {
		var object map[string]json.RawMessage
		var command string
		if json.Unmarshal(input, &object) == nil && json.Unmarshal(object["command"], &command) == nil && command != "" {
			return visible(command)
		}
	}
	return indented(input)
}

// Answer answers a permission request with the id of an option, or cancels it with "".
func (c *Chat) Answer(request, option string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.asked.pending[request]
	if p == nil {
		return executor.Errorf(executor.ErrBadArgs, "It may have been canceled. Look at the entry of the request.",
			"no permission request %q waits for an answer", request)
	}
	if option != "" && !slices.ContainsFunc(p.entry.Options, func(o transcript.Option) bool { return o.ID == option }) {
		return executor.Errorf(executor.ErrBadArgs, "Choose one of its options.", "permission request %s has no option %q", request, option)
	}
	c.resolve(p, option)
	return nil
}

// resolve answers a permission request, if it has no answer yet. The caller has locked c.mu.
func (c *Chat) resolve(p *permission, option string) {
	if c.asked.pending[p.entry.Request] != p {
		return
	}
	delete(c.asked.pending, p.entry.Request)
	p.answer <- option
	entry := p.entry
	entry.Chosen = &option
	c.onEvent(Event{Key: p.key, Entry: transcript.Entry{At: p.at, Kind: transcript.KindPermission, Permission: &entry}})
}

// cancelPermissions cancels all permission requests. The caller has locked c.mu.
func (c *Chat) cancelPermissions() {
	pending := c.asked.pending
	var order []*permission
	for _, p := range pending {
		order = append(order, p)
	}
	slices.SortFunc(order, func(x, y *permission) int { return cmp.Compare(x.key, y.key) })
	for _, p := range order {
		c.resolve(p, "")
	}
}
