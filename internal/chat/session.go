package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/agents"
	"github.com/chrome-mcp/chrome-mcp/internal/transcript"
)

// Info is what an agent says about itself.
type Info struct {
	Name     string
	Version  string
	Protocol int
	Load     bool     // it can continue sessions
	Embed    bool     // prompts may contain resources
	Login    []string // names of its logins
}

// Probe starts an agent in dir, asks what it is, and ends it.
func Probe(ctx context.Context, a agents.Agent, dir string, logger *slog.Logger) (Info, error) {
	c, err := start(ctx, Options{Agent: a, Dir: dir, Logger: logger})
	if err != nil {
		return Info{}, err
	}
	return c.info, c.Close()
}

// initialize sends the first request and reads the answer.
func (c *Chat) initialize(ctx context.Context, limit time.Duration) error {
	r, err := request[acp.InitializeResponse](ctx, c, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "chrome-mcp", Title: acp.Ptr("chrome-mcp"), Version: "1"},
		ClientCapabilities: acp.ClientCapabilities{
			Fs: acp.FileSystemCapabilities{ReadTextFile: c.agent.Files, WriteTextFile: c.agent.Files},
		},
	}, limit)
	if err != nil {
		return err
	}
	if r.ProtocolVersion != acp.ProtocolVersionNumber {
		return executor.Errorf(executor.ErrLaunchFailed, "Update the agent or this program, so that both have the same version.",
			"agent %s has version %d of the Agent Client Protocol, this program version %d", c.agent.Name, r.ProtocolVersion, acp.ProtocolVersionNumber)
	}
	c.info = Info{
		Protocol: int(r.ProtocolVersion),
		Load:     r.AgentCapabilities.LoadSession || r.AgentCapabilities.SessionCapabilities.Resume != nil,
		Embed:    r.AgentCapabilities.PromptCapabilities.EmbeddedContext,
	}
	if i := r.AgentInfo; i != nil {
		c.info.Name, c.info.Version = short(i.Name), short(i.Version)
		if i.Title != nil && *i.Title != "" {
			c.info.Name = short(*i.Title)
		}
	}
	for _, m := range r.AuthMethods {
		switch {
		case m.Agent != nil:
			c.info.Login = append(c.info.Login, short(m.Agent.Name))
		case m.EnvVar != nil:
			c.info.Login = append(c.info.Login, short(m.EnvVar.Name))
		case m.Terminal != nil:
			c.info.Login = append(c.info.Login, short(m.Terminal.Name))
		}
	}
	c.resumes = r.AgentCapabilities.SessionCapabilities.Resume != nil
	c.loads = r.AgentCapabilities.LoadSession
	return nil
}

// open continues the session of o.Resume or starts one, and chooses its mode.
func (c *Chat) open(ctx context.Context, o Options) error {
	servers := []acp.McpServer{}
	if o.Server.Command != "" {
		servers = append(servers, acp.McpServer{Stdio: &acp.McpServerStdio{
			Name: "chrome-mcp", Command: o.Server.Command, Args: append([]string{}, o.Server.Args...), Env: []acp.EnvVariable{},
		}})
	}
	var modes *acp.SessionModeState
	var config []acp.SessionConfigOption
	id := acp.SessionId(o.Resume)
	var err error
	switch {
	case o.Resume != "" && c.resumes:
		var r acp.ResumeSessionResponse
		r, err = request[acp.ResumeSessionResponse](ctx, c, acp.AgentMethodSessionResume,
			acp.ResumeSessionRequest{SessionId: id, Cwd: c.dir, McpServers: servers}, sessionTimeout)
		modes, config, c.loaded = r.Modes, r.ConfigOptions, err == nil
	case o.Resume != "" && c.loads:
		// The agent repeats the conversation before it answers. The transcript has it already, so
		// these updates are dropped: c.session is not set yet.
		var r acp.LoadSessionResponse
		r, err = request[acp.LoadSessionResponse](ctx, c, acp.AgentMethodSessionLoad,
			acp.LoadSessionRequest{SessionId: id, Cwd: c.dir, McpServers: servers}, sessionTimeout)
		modes, config, c.loaded = r.Modes, r.ConfigOptions, err == nil
	}
	if err != nil {
		if isClosed(c.conn.Done()) || ctx.Err() != nil || errors.Is(err, executor.ErrTimeout) || errors.Is(err, executor.ErrLaunchFailed) {
			return err
		}
		c.log.Info("session not loaded", "error", err)
	}
	if !c.loaded {
		r, err := request[acp.NewSessionResponse](ctx, c, acp.AgentMethodSessionNew, acp.NewSessionRequest{Cwd: c.dir, McpServers: servers}, sessionTimeout)
		if err != nil {
			return err
		}
		if r.SessionId == "" || len(r.SessionId) > maxID {
			return c.failure(errors.New("it returned an invalid session id"))
		}
		modes, config, id = r.Modes, r.ConfigOptions, r.SessionId
	}
	c.mu.Lock()
	c.session = id
	c.mu.Unlock()
	return c.restrict(ctx, modes, config)
}

// maxID bounds the ids of sessions, tool calls and options, in bytes.
const maxID = 4 << 10

// restrictedModes are the names of modes in which agents ask before they act, the most restrictive
// first. "plan" and "chat" are last, because agents do not use tools in them at all.
var restrictedModes = []string{"read-only", "readonly", "ask", "manual", "approve", "default", "smart_approve", "plan", "chat"}

// riskyModes are the names of modes in which agents act without asking.
var riskyModes = []string{"acceptedits", "auto", "autoedit", "auto-edit", "auto_edit", "bypasspermissions", "dangerfullaccess", "dontask", "full-access", "yolo"}

// restrictedMode returns the most restrictive known mode, or "".
func restrictedMode(ids []string) string {
	for _, name := range restrictedModes {
		for _, id := range ids {
			if modeName(id) == name {
				return id
			}
		}
	}
	return ""
}

// modeName returns the name in the id of a mode, which some agents write as a URL.
func modeName(id string) string {
	return strings.ToLower(id[strings.LastIndexAny(id, "#/")+1:])
}

// restrict chooses the most restrictive known mode of the session. A notice is added if the agent
// stays in a mode in which it acts without asking.
func (c *Chat) restrict(ctx context.Context, modes *acp.SessionModeState, config []acp.SessionConfigOption) error {
	var ids []string
	var current string
	var set func(mode string) error
	if modes != nil {
		current = string(modes.CurrentModeId)
		for _, m := range modes.AvailableModes {
			ids = append(ids, string(m.Id))
		}
		set = func(mode string) error {
			_, err := request[acp.SetSessionModeResponse](ctx, c, acp.AgentMethodSessionSetMode,
				acp.SetSessionModeRequest{SessionId: c.session, ModeId: acp.SessionModeId(mode)}, sessionTimeout)
			return err
		}
	} else if option := modeOption(config); option != nil {
		current, ids = string(option.CurrentValue), optionValues(option.Options)
		set = func(mode string) error {
			_, err := request[acp.SetSessionConfigOptionResponse](ctx, c, acp.AgentMethodSessionSetConfigOption,
				acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{
					ConfigId: option.Id, SessionId: c.session, Value: acp.SessionConfigValueId(mode),
				}}, sessionTimeout)
			return err
		}
	}
	mode := restrictedMode(ids)
	if mode != "" && mode != current {
		err := set(mode)
		if err != nil && (isClosed(c.conn.Done()) || ctx.Err() != nil) {
			return err
		}
		if err == nil {
			current = mode
		} else {
			c.log.Warn("setting the mode", "mode", mode, "error", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteMode(current)
	return nil
}

// noteMode adds a notice if the agent changes to a mode in which it acts without asking. The caller has
// locked c.mu.
func (c *Chat) noteMode(mode string) {
	if mode == c.mode {
		return
	}
	c.mode = mode
	if slices.Contains(riskyModes, modeName(mode)) {
		c.add(transcript.Entry{Kind: transcript.KindNotice, Text: fmt.Sprintf("The agent is in mode %s: it may act without asking you.", short(mode))})
	}
}

// modeOption returns the configuration option that is the mode, or nil.
func modeOption(config []acp.SessionConfigOption) *acp.SessionConfigOptionSelect {
	for _, o := range config {
		if s := o.Select; s != nil && s.Category != nil && *s.Category == acp.SessionConfigOptionCategoryMode {
			return s
		}
	}
	return nil
}

// optionValues returns the values of a configuration option.
func optionValues(options acp.SessionConfigSelectOptions) []string {
	var values []string
	if options.Ungrouped != nil {
		for _, o := range *options.Ungrouped {
			values = append(values, string(o.Value))
		}
	}
	if options.Grouped != nil {
		for _, group := range *options.Grouped {
			for _, o := range group.Options {
				values = append(values, string(o.Value))
			}
		}
	}
	return values
}

// maxShort is the maximum length of the part of a text that short returns, in characters.
const maxShort = 200

// short returns the beginning of a text of the agent, for an error or a title, in one line.
func short(s string) string {
	runes := []rune(s[:min(len(s), 4*maxShort)])
	text := visible(strings.Join(strings.Fields(string(runes[:min(len(runes), maxShort)])), " "))
	if len(s) > len(string(runes[:min(len(runes), maxShort)])) {
		text += "…"
	}
	return cmp.Or(text, "unknown")
}
