// Acp-agent is a small agent for the side panel. It has no model: it reads the shared tab with the
// MCP server that it gets, and answers with what it found. Two kinds of messages do more:
//
//	press NAME     clicks the button of that name, after a permission request
//	TOOL {JSON}    calls a tool of the MCP server
//
// Add it with chrome-mcp agents add example -- PATH.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	a := &agent{sessions: map[acp.SessionId]*session{}}
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	<-a.conn.Done()
	for _, s := range a.sessions {
		s.tools.Close()
	}
}

type agent struct {
	conn *acp.AgentSideConnection

	mu       sync.Mutex // guards sessions, and session.cancel
	sessions map[acp.SessionId]*session
}

type session struct {
	id     acp.SessionId
	tools  *mcp.ClientSession
	calls  int
	cancel context.CancelFunc // of the running turn
}

// Initialize implements acp.Agent.
func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber, AgentInfo: &acp.Implementation{Name: "example", Version: "1.0.0"}}, nil
}

// NewSession connects to the MCP server.
func (a *agent) NewSession(ctx context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if len(p.McpServers) != 1 || p.McpServers[0].Stdio == nil {
		return acp.NewSessionResponse{}, errors.New("the client must give one MCP server on stdio")
	}
	server := p.McpServers[0].Stdio
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Stderr = os.Stderr
	tools, err := mcp.NewClient(&mcp.Implementation{Name: "example agent", Version: "1.0.0"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &session{id: acp.SessionId(fmt.Sprintf("session-%d", len(a.sessions)+1)), tools: tools}
	a.sessions[s.id] = s
	return acp.NewSessionResponse{SessionId: s.id}, nil
}

// Prompt answers a message.
func (a *agent) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	s := a.sessions[p.SessionId]
	if s != nil {
		s.cancel = cancel
	}
	a.mu.Unlock()
	if s == nil {
		return acp.PromptResponse{}, fmt.Errorf("unknown session %s", p.SessionId)
	}
	message := ""
	for _, block := range p.Prompt {
		if block.Text != nil {
			message = block.Text.Text // the last one is that of the user
		}
	}
	err := a.answer(ctx, s, strings.TrimSpace(message))
	if ctx.Err() != nil || errors.Is(err, errCancelled) {
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

func (a *agent) answer(ctx context.Context, s *session, message string) error {
	word, rest, _ := strings.Cut(message, " ")
	switch {
	case word == "press":
		id, err := a.startCall(ctx, s, "click", map[string]any{"text": rest, "role": "button"})
		if err != nil {
			return err
		}
		allowed, err := a.ask(ctx, s, id, "Press "+rest, map[string]any{"text": rest})
		if err != nil {
			return err
		}
		if !allowed {
			return a.say(ctx, s, "I did not press it.")
		}
		text, err := a.call(ctx, s, id, "click", map[string]any{"text": rest, "role": "button"})
		if err != nil {
			return err
		}
		return a.say(ctx, s, "I pressed **"+rest+"**.\n\n```\n"+text+"\n```\n")
	case strings.HasPrefix(rest, "{"):
		var args map[string]any
		if err := json.Unmarshal([]byte(rest), &args); err != nil {
			return a.say(ctx, s, "The arguments are not JSON: "+err.Error())
		}
		text, err := a.run(ctx, s, word, args)
		if err != nil {
			return err
		}
		return a.say(ctx, s, "```\n"+text+"\n```\n")
	}
	if err := a.plan(ctx, s, acp.PlanEntryStatusInProgress); err != nil {
		return err
	}
	text, err := a.run(ctx, s, "get_text", nil)
	if err != nil {
		return err
	}
	if err := a.plan(ctx, s, acp.PlanEntryStatusCompleted); err != nil {
		return err
	}
	for _, part := range []string{"This page has ", fmt.Sprintf("**%d words**. ", len(strings.Fields(text))), "It begins:\n\n"} {
		if err := a.say(ctx, s, part); err != nil {
			return err
		}
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines[:min(len(lines), 12)] {
		if err := a.say(ctx, s, "> "+line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// run calls a tool and reports the call.
func (a *agent) run(ctx context.Context, s *session, tool string, args map[string]any) (string, error) {
	id, err := a.startCall(ctx, s, tool, args)
	if err != nil {
		return "", err
	}
	return a.call(ctx, s, id, tool, args)
}

func (a *agent) startCall(ctx context.Context, s *session, tool string, args map[string]any) (acp.ToolCallId, error) {
	s.calls++
	id := acp.ToolCallId(fmt.Sprintf("call-%d", s.calls))
	return id, a.update(ctx, s, acp.StartToolCall(id, tool, acp.WithStartStatus(acp.ToolCallStatusPending), acp.WithStartKind(acp.ToolKindFetch), acp.WithStartRawInput(args)))
}

func (a *agent) call(ctx context.Context, s *session, id acp.ToolCallId, tool string, args map[string]any) (string, error) {
	if err := a.update(ctx, s, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusInProgress))); err != nil {
		return "", err
	}
	result, err := s.tools.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	status := acp.ToolCallStatusCompleted
	if result.IsError {
		status = acp.ToolCallStatusFailed
	}
	return text.String(), a.update(ctx, s, acp.UpdateToolCall(id, acp.WithUpdateStatus(status), acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text.String()))})))
}

// errCancelled is the error of a permission request during which the turn was canceled. The answer can
// arrive before the notification.
var errCancelled = errors.New("the turn was canceled")

// ask asks the user for permission.
func (a *agent) ask(ctx context.Context, s *session, id acp.ToolCallId, title string, input any) (bool, error) {
	answer, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: s.id,
		ToolCall:  acp.ToolCallUpdate{ToolCallId: id, Title: &title, RawInput: input},
		Options: []acp.PermissionOption{
			{Kind: acp.PermissionOptionKindAllowOnce, Name: "Allow", OptionId: "allow"},
			{Kind: acp.PermissionOptionKindRejectOnce, Name: "Do not allow", OptionId: "reject"},
		},
	})
	if err == nil && answer.Outcome.Cancelled != nil {
		err = errCancelled
	}
	return err == nil && answer.Outcome.Selected != nil && answer.Outcome.Selected.OptionId == "allow", err
}

func (a *agent) plan(ctx context.Context, s *session, status acp.PlanEntryStatus) error {
	return a.update(ctx, s, acp.UpdatePlan(acp.PlanEntry{Content: "Read the page", Status: status, Priority: acp.PlanEntryPriorityMedium}))
}

func (a *agent) say(ctx context.Context, s *session, text string) error {
	return a.update(ctx, s, acp.UpdateAgentMessageText(text))
}

func (a *agent) update(ctx context.Context, s *session, u acp.SessionUpdate) error {
	return a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: s.id, Update: u})
}

// Cancel ends the running turn.
func (a *agent) Cancel(_ context.Context, p acp.CancelNotification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[p.SessionId]; s != nil && s.cancel != nil {
		s.cancel()
	}
	return nil
}

// CloseSession disconnects from the MCP server.
func (a *agent) CloseSession(_ context.Context, p acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[p.SessionId]; s != nil {
		delete(a.sessions, p.SessionId)
		return acp.CloseSessionResponse{}, s.tools.Close()
	}
	return acp.CloseSessionResponse{}, nil
}

// Authenticate implements acp.Agent.
func (*agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

// ListSessions implements acp.Agent.
func (*agent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

// ResumeSession implements acp.Agent.
func (*agent) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

// SetSessionConfigOption implements acp.Agent.
func (*agent) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

// SetSessionMode implements acp.Agent.
func (*agent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
