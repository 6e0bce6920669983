// Package client is the client side of a server: the commands call and shell, and MCP on stdin and stdout
// with a session of a server.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// CallCommand returns the command call.
func CallCommand(s *cli.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON | NAME=VALUE ... | -] [then TOOL ...] [--json]",
		Short: "call tools and print their results",
		Long: `Calls a tool and those after "then", until one fails, and prints their results.
The browser and its pages stay open for the next call: a server keeps the session,
which the first call opens with its flags. call starts the server if none is running.
The arguments are one JSON object, or one word for each: NAME=VALUE, or NAME:=JSON; or
"-" to read them from stdin. With --json the complete results are printed, including
images.

The exit code is 0 on success, 2 for a wrong flag, and otherwise the reason why a tool
failed, also in a batch or a script: 3 unknown tool or invalid arguments, 4 denied,
5 tab or element not found, 6 element not actionable, 7 timeout, 8 limit reached,
9 no browser, 1 anything else.`,
		Example: `  chrome-mcp call navigate url=https://example.com --allow-domain example.com
  chrome-mcp call read_as_markdown`,
		ValidArgsFunction: completeCall,
		RunE:              func(cmd *cobra.Command, words []string) error { return WithExitCode(call(cmd, s, words)) },
	}
	s.AddJSONFlag(cmd)
	return cmd
}

// call calls the named tool and those after each "then" until one fails, and prints their results.
func call(cmd *cobra.Command, s *cli.Settings, words []string) error {
	calls := [][]string{nil}
	for _, word := range words {
		if word == "then" {
			calls = append(calls, nil)
			continue
		}
		calls[len(calls)-1] = append(calls[len(calls)-1], word)
	}
	if slices.ContainsFunc(calls, func(c []string) bool { return len(c) == 0 }) {
		return cli.Usagef("For example: chrome-mcp call chrome_status. `help` in chrome-mcp shell lists the tools.", "call needs the name of a tool")
	}
	t, err := StartTerminal(cmd, s)
	if err != nil {
		return err
	}
	var failed *cli.Reported
	for _, c := range calls {
		if slices.Equal(c[1:], []string{"-"}) {
			var text []byte
			if text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxArguments+1)); err != nil {
				break
			}
			if len(text) > maxArguments {
				err = tooLong()
				break
			}
			c = []string{c[0], string(text)}
		}
		if failed, err = t.call(cmd.Context(), c[0], c[1:]); err != nil {
			failed, err = t.report(err)
		}
		if failed != nil || err != nil {
			break
		}
	}
	return t.Finish(failed, err)
}

// reject reports a line of the shell that is not a valid call.
func (t *Terminal) reject(usage *cli.UsageError) error {
	if !t.JSON {
		cli.Fail(t.stderr, usage)
		return nil
	}
	return t.Print(&sdk.CallToolResult{
		IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%v. %s", usage, usage.Hint)}},
		Meta: sdk.Meta{mcp.ErrorKey: map[string]any{"code": executor.ErrBadArgs, "message": usage.Error(), "hint": usage.Hint, "retryable": false}},
	})
}

// report prints an error of a call as a JSON line, with --json, and returns the failure. Without it, or
// if the error has no code, report returns the error.
func (t *Terminal) report(err error) (*cli.Reported, error) {
	if !t.JSON {
		return nil, err
	}
	if usage, ok := errors.AsType[*cli.UsageError](err); ok {
		return &cli.Reported{Exit: usage.ExitCode()}, t.reject(usage)
	}
	remote, ok := errors.AsType[*remoteError](err)
	if !ok || remote.code() == "" {
		return nil, err
	}
	return &cli.Reported{Exit: errclass.Of(remote.code()).Exit}, t.Print(&sdk.CallToolResult{
		IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: remote.Error()}}, Meta: sdk.Meta{mcp.ErrorKey: remote.rpc.Data},
	})
}

// A Terminal is an MCP client for users and scripts.
type Terminal struct {
	Session        *sdk.ClientSession
	name           string        // of the session of the server; empty with --no-server
	note           string        // for the next result; may be empty
	data           string        // directory
	toolsets       []mcp.Toolset // of the session
	JSON           bool
	stdout, stderr io.Writer
	end            func() error // disconnects, and ends what StartTerminal started
}

// StartTerminal connects to the session of the settings. With --no-server, it starts a separate
// browser.
func StartTerminal(cmd *cobra.Command, s *cli.Settings) (*Terminal, error) {
	if err := s.ListenersUnused("on " + cmd.Name()); err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	t := &Terminal{JSON: s.JSON, data: s.Data, toolsets: mcp.Toolsets(), stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	var transport sdk.Transport
	if s.NoServer {
		transport = t.startInProcess(ctx, s)
	} else {
		client, replaced, err := openServerSession(cmd, s, true)
		if err != nil {
			return nil, err
		}
		t.name = s.Session
		if replaced {
			t.note = fmt.Sprintf("session %s had other settings and no browser; it was opened again with those of this command", s.Session)
		}
		url, web := client.MCP(s.Session)
		web.Transport = errorTransport{web.Transport}
		transport = &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: web, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: -1}
		t.end = func() error {
			if t.Session != nil {
				t.Session.Close() // the session of the browser stays open
			}
			client.Close()
			return nil
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "chrome-mcp " + cmd.Name(), Version: s.Version}, nil)
	var err error
	if t.Session, err = client.Connect(ctx, transport, nil); err == nil {
		return t, nil
	}
	if ended := t.end(); ended != nil {
		return nil, ended // the reason why connecting failed
	}
	return nil, err
}

// tools returns the tools of the session. The server has the version of this program, so it is not
// asked.
func (t *Terminal) tools() []mcp.ToolInfo {
	return slices.DeleteFunc(mcp.Tools(), func(tool mcp.ToolInfo) bool { return !slices.Contains(t.toolsets, tool.Toolset) })
}

// tool returns a tool of the session, and reports false if the session has no tool of that name. It
// is fast: call needs only one.
func (t *Terminal) tool(name string) (mcp.ToolInfo, bool) {
	tool, ok := mcp.FindTool(name)
	return tool, ok && slices.Contains(t.toolsets, tool.Toolset)
}

// startInProcess starts an MCP server in this process and returns a transport to it.
func (t *Terminal) startInProcess(ctx context.Context, s *cli.Settings) sdk.Transport {
	s.Structured = true // for the exit code
	if !s.Given("tools") {
		s.Tools = mcp.Toolsets() // toolsets cost prompt size, which does not matter here
	}
	t.toolsets = s.Tools
	requests, toServer := io.Pipe()
	fromServer, answers := io.Pipe()
	ran := make(chan error, 1)
	go func() {
		err := compose.ServeStdio(ctx, s, timing.Current().CloseTerminal, requests, answers, t.stderr)
		requests.Close()
		answers.Close()
		ran <- err
	}()
	t.end = func() error {
		toServer.Close()
		return <-ran
	}
	return &sdk.IOTransport{Reader: fromServer, Writer: toServer}
}

// Finish disconnects and returns the overall result.
func (t *Terminal) Finish(failed *cli.Reported, err error) error {
	if err = errors.Join(err, t.end()); err == nil && failed != nil {
		return failed
	}
	return err
}

// call calls a tool and prints its result: as text, or with --json completely. A failure of the
// tool was printed.
func (t *Terminal) call(ctx context.Context, name string, words []string) (*cli.Reported, error) {
	tool, ok := t.tool(name)
	if !ok {
		return nil, t.unknown(name)
	}
	args, err := toolArguments(tool, words)
	if err != nil {
		return nil, err
	}
	res, err := t.Session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if ctx.Err() != nil {
		return &cli.Reported{Exit: cli.ExitFailed}, nil // interrupted
	}
	if remote, ok := errors.AsType[*remoteError](err); ok {
		err = remote // without what the SDK and net/http add
	}
	if err != nil {
		return nil, err
	}
	t.explainDenial(res)
	t.explainProfile(ctx, res)
	t.addNote(res)
	return FailureOf(name, res), t.Print(res)
}

// addNote adds the note of the terminal to a result, in its text and in _meta, as the server does.
func (t *Terminal) addNote(res *sdk.CallToolResult) {
	note := t.note
	if t.note = ""; note == "" {
		return
	}
	if text, ok := res.Content[0].(*sdk.TextContent); ok {
		text.Text += "\nnote: " + note
	}
	if earlier, ok := res.Meta[mcp.NoteKey].(string); ok {
		note = earlier + "; " + note
	}
	if res.Meta == nil {
		res.Meta = sdk.Meta{}
	}
	res.Meta[mcp.NoteKey] = note
}

// explainDenial adds to a denial that names a flag how to set the flag for a session that is open.
func (t *Terminal) explainDenial(res *sdk.CallToolResult) {
	meta, _ := res.Meta[mcp.ErrorKey].(map[string]any)
	hint, _ := meta["hint"].(string)
	if code, _ := mcp.ErrorCode(res); t.name != "" && code == executor.ErrPolicyDenied && strings.Contains(hint, " --") {
		extendHint(res, fmt.Sprintf("Close the session with `chrome-mcp sessions close %s`, which closes its pages, and pass the flag to the next command.", t.name))
	}
}

// explainProfile adds to the error about a profile in use that the server of the same data
// directory may use it.
func (t *Terminal) explainProfile(ctx context.Context, res *sdk.CallToolResult) {
	meta, _ := res.Meta[mcp.ErrorKey].(map[string]any)
	message, _ := meta["message"].(string)
	if t.name != "" || !strings.HasPrefix(message, "profile ") || !strings.Contains(message, " "+chromium.ErrProfileInUse.Error()+" by ") {
		return
	}
	client := server.NewClient(server.SocketPath(t.data))
	defer client.Close()
	if st, err := client.Status(ctx); err == nil && st.Sessions > 0 {
		extendHint(res, "The server of call and shell has open sessions: omit --no-server to use them, or stop it with `chrome-mcp serve stop`.")
	}
}

// extendHint adds a sentence to the hint of a result that is an error.
func extendHint(res *sdk.CallToolResult, sentence string) {
	meta, _ := res.Meta[mcp.ErrorKey].(map[string]any)
	hint, _ := meta["hint"].(string)
	meta["hint"] = strings.TrimSpace(hint + " " + sentence)
	if text, ok := res.Content[0].(*sdk.TextContent); ok {
		first, rest, _ := strings.Cut(text.Text, "\n")
		text.Text = strings.TrimSuffix(first+" "+sentence+"\n"+rest, "\n")
	}
}

func (t *Terminal) unknown(name string) *cli.UsageError {
	hint := "`help` in chrome-mcp shell lists the tools."
	for _, tool := range t.tools() {
		if typo.Distance(tool.Name, name) <= 2 {
			hint = "Did you mean " + tool.Name + "?"
		}
	}
	return cli.BadCallf(hint, "unknown tool %q", name)
}

// Print prints a result: as text, or as JSON.
func (t *Terminal) Print(res *sdk.CallToolResult) error {
	if t.JSON {
		return json.NewEncoder(t.stdout).Encode(struct {
			Content    []sdk.Content `json:"content"`
			Structured any           `json:"structuredContent,omitempty"`
			IsError    bool          `json:"isError,omitempty"`
			Meta       sdk.Meta      `json:"_meta,omitempty"`
		}{res.Content, res.StructuredContent, res.IsError, res.Meta})
	}
	w := t.stdout
	if res.IsError {
		w = t.stderr
	}
	for _, c := range res.Content {
		var err error
		switch c := c.(type) {
		case *sdk.TextContent:
			_, err = fmt.Fprintln(w, strings.TrimRight(c.Text, "\n"))
		case *sdk.ImageContent:
			_, err = fmt.Fprintf(w, "(%s, %d bytes; --json prints it)\n", c.MIMEType, len(c.Data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// completeCall completes the arguments of call: the word between two calls, or the names of tools.
func completeCall(_ *cobra.Command, words []string, _ string) (tools []string, _ cobra.ShellCompDirective) {
	if len(words) > 0 && words[len(words)-1] != "then" {
		return []string{"then"}, cobra.ShellCompDirectiveNoFileComp
	}
	for _, tool := range mcp.Tools() {
		tools = append(tools, cobra.CompletionWithDesc(tool.Name, tool.Description))
	}
	return tools, cobra.ShellCompDirectiveNoFileComp
}
