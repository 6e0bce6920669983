package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

func callCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON | NAME=VALUE ... | -] [then TOOL ...] [--json]",
		Short: "call tools and print their results",
		Long: `Calls a tool and those after "then", until one fails, and prints their results.
The browser and its pages stay open for the next call: a server keeps the session,
which the first call opens with its flags. call starts the server if none is running.
The arguments are one JSON object, or one word for each: NAME=VALUE, or NAME:=JSON; or
"-" to read them from stdin. With --json the complete results are printed, including
images.

The exit code is 0 on success, 2 for a wrong flag or argument, and otherwise the
reason why a tool failed, also in a batch or a script: 3 invalid arguments, 4 denied,
5 tab or element not found, 6 element not actionable, 7 timeout, 8 limit reached,
9 no browser, 1 anything else.`,
		Example: `  chrome-mcp call navigate url=https://example.com --allow-domain example.com
  chrome-mcp call read_as_markdown`,
		ValidArgsFunction: completeCall,
		RunE:              func(cmd *cobra.Command, words []string) error { return call(cmd, s, words) },
	}
	s.addJSONFlag(cmd)
	return cmd
}

func shellCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shell [--json]",
		Short: "call the tools that lines of stdin name",
		Long: `Calls the tools that the lines of stdin name, one after another, in the session that
call uses. A line is split into words like the line of a POSIX shell, with quotes and
backslashes. help lists the tools, help TOOL the arguments of a tool, exit quits. The
exit code is that of call, for the last tool that failed.`,
		Example: `  navigate url=https://example.com
  type selector="#street" text="Main Street 1"
  click {"selector": "text=Sign in"}`,
		Args: s.maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return shell(cmd, s) },
	}
	s.addJSONFlag(cmd)
	return cmd
}

// addJSONFlag adds --json to a command.
func (s *settings) addJSONFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.json, "json", false, "with audit, call and shell: print JSON lines")
}

// call calls the named tool and those after each "then" until one fails, and prints their results.
func call(cmd *cobra.Command, s *settings, words []string) error {
	calls := [][]string{nil}
	for _, word := range words {
		if word == "then" {
			calls = append(calls, nil)
			continue
		}
		calls[len(calls)-1] = append(calls[len(calls)-1], word)
	}
	if slices.ContainsFunc(calls, func(c []string) bool { return len(c) == 0 }) {
		return usagef("For example: chrome-mcp call chrome_status. `help` in chrome-mcp shell lists the tools.", "call needs the name of a tool")
	}
	t, err := startTerminal(cmd, s)
	if err != nil {
		return err
	}
	var failed *toolFailure
	for _, c := range calls {
		if slices.Equal(c[1:], []string{"-"}) {
			var text []byte
			if text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxLine+1)); err != nil {
				break
			}
			if len(text) > maxLine {
				err = tooLong()
				break
			}
			c = []string{c[0], string(text)}
		}
		if failed, err = t.call(cmd.Context(), c[0], c[1:]); failed != nil || err != nil {
			break
		}
	}
	return t.finish(failed, err)
}

// maxLine is the maximum size of the arguments of one call, in bytes.
const maxLine = 1 << 20

func tooLong() error {
	return usagef("Split it into several calls.", "the arguments of one call exceed %d bytes", maxLine)
}

// shell calls, one after another, the tools that the lines of stdin name.
func shell(cmd *cobra.Command, s *settings) error {
	ctx, stdin, stderr := cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr()
	t, err := startTerminal(cmd, s)
	if err != nil {
		return err
	}
	interactive := isTerminal(stdin)
	prompt := func() {
		if interactive {
			fmt.Fprint(stderr, "chrome> ")
		}
	}
	if interactive {
		fmt.Fprintln(stderr, "Enter a tool and its arguments on each line, such as navigate url=https://example.com; help lists the tools, exit quits.")
	}
	// Read in a goroutine, so that an interrupt does not wait for the next line.
	lines, scanned := make(chan string), make(chan error, 1)
	go func() {
		in := bufio.NewScanner(stdin)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
		err := in.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = tooLong()
		}
		scanned <- err
	}()
	var failed *toolFailure
	for prompt(); ; prompt() {
		select {
		case line := <-lines:
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case name == "" || strings.HasPrefix(name, "#"):
				continue
			case name == "exit" || name == "quit":
				return t.finish(failed, nil)
			case name == "help":
				t.help(strings.TrimSpace(rest))
				continue
			}
			words, err := arguments(rest)
			var bad *toolFailure
			if err == nil {
				bad, err = t.call(ctx, name, words)
			}
			if usage, ok := errors.AsType[*usageError](err); ok {
				bad, err = &toolFailure{errclass.ExitBadArgs}, t.reject(usage)
			}
			if bad != nil {
				failed = bad
			}
			if err != nil {
				return t.finish(failed, err)
			}
		case err := <-scanned:
			return t.finish(failed, err)
		case <-ctx.Done():
			return t.finish(failed, nil)
		}
	}
}

// reject reports a line of the shell that is not a valid call.
func (t *terminal) reject(usage *usageError) error {
	if !t.json {
		fail(t.stderr, usage)
		return nil
	}
	return t.print(&sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%v. %s", usage, usage.hint)}}})
}

// arguments splits the text after a tool's name into arguments. A JSON object is one argument.
func arguments(rest string) ([]string, error) {
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "{") {
		return []string{rest}, nil
	}
	words, err := splitWords(rest)
	if err != nil {
		return nil, usagef(`Write a text with spaces or quotes as text="it's here", or all arguments as one JSON object.`, "%w", err)
	}
	return words, nil
}

// A terminal is an MCP client for users and scripts.
type terminal struct {
	session        *sdk.ClientSession
	listed         []*sdk.Tool // nil until tools needs it
	json           bool
	stdout, stderr io.Writer
	end            func() error // disconnects, and ends what startTerminal started
}

// terminalCloseTimeout is the time that the browser of a terminal has to exit. No MCP host kills
// the server after a few seconds.
const terminalCloseTimeout = 10 * time.Second

// startTerminal connects to the session of the settings. With --no-server, it starts a separate
// browser.
func startTerminal(cmd *cobra.Command, s *settings) (*terminal, error) {
	ctx := cmd.Context()
	t := &terminal{json: s.json, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	var transport sdk.Transport
	if s.noServer {
		transport = t.startInProcess(ctx, s)
	} else {
		client, err := openServerSession(cmd, s, true)
		if err != nil {
			return nil, err
		}
		url, web := client.MCP(s.session)
		transport = &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: web, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: -1}
		t.end = func() error {
			if t.session != nil {
				t.session.Close() // the session of the browser stays open
			}
			client.Close()
			return nil
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "chrome-mcp " + cmd.Name(), Version: programVersion()}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err == nil {
		t.session = session
		if s.noServer {
			var list *sdk.ListToolsResult
			if list, err = session.ListTools(ctx, nil); err == nil {
				t.listed = list.Tools
			}
		}
		if err == nil {
			return t, nil
		}
	}
	if ended := t.end(); ended != nil {
		return nil, ended // the reason why connecting failed
	}
	return nil, err
}

// tools returns the tools of the session. A session of the server has all of them, and the server has
// the version of this program, so it is not asked.
func (t *terminal) tools() []*sdk.Tool {
	if t.listed == nil {
		for _, info := range mcp.Tools() {
			t.listed = append(t.listed, toolOf(info))
		}
	}
	return t.listed
}

// tool returns a tool of the session, or nil. It is fast: call needs only one.
func (t *terminal) tool(name string) *sdk.Tool {
	if t.listed == nil {
		if info, ok := mcp.FindTool(name); ok {
			return toolOf(info)
		}
		return nil
	}
	if i := slices.IndexFunc(t.listed, func(tool *sdk.Tool) bool { return tool.Name == name }); i >= 0 {
		return t.listed[i]
	}
	return nil
}

func toolOf(info mcp.ToolInfo) *sdk.Tool {
	return &sdk.Tool{Name: info.Name, Description: info.Description, InputSchema: info.InputSchema}
}

// startInProcess starts an MCP server in this process and returns a transport to it.
func (t *terminal) startInProcess(ctx context.Context, s *settings) sdk.Transport {
	s.structured = true // for the exit code
	if !s.given("tools") {
		s.tools = mcp.Toolsets() // toolsets cost prompt size, which does not matter here
	}
	s.closeTimeout = terminalCloseTimeout
	requests, toServer := io.Pipe()
	fromServer, answers := io.Pipe()
	ran := make(chan error, 1)
	go func() {
		err := serve(ctx, s, requests, answers, t.stderr)
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

// finish disconnects and returns the overall result.
func (t *terminal) finish(failed *toolFailure, err error) error {
	if err = errors.Join(err, t.end()); err == nil && failed != nil {
		return failed
	}
	return err
}

// call calls a tool and prints its result: as text, or with --json completely. A failure of the
// tool was printed.
func (t *terminal) call(ctx context.Context, name string, words []string) (*toolFailure, error) {
	tool := t.tool(name)
	if tool == nil {
		return nil, t.unknown(name)
	}
	args, err := toolArguments(tool, words)
	if err != nil {
		return nil, err
	}
	res, err := t.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if ctx.Err() != nil {
		return &toolFailure{exitFailed}, nil // interrupted
	}
	if err != nil {
		return nil, err
	}
	return failureOf(name, res), t.print(res)
}

func (t *terminal) unknown(name string) error {
	hint := "`help` in chrome-mcp shell lists the tools."
	for _, tool := range t.tools() {
		if typo.Distance(tool.Name, name) <= 2 {
			hint = "Did you mean " + tool.Name + "?"
		}
	}
	return usagef(hint, "unknown tool %q", name)
}

func (t *terminal) print(res *sdk.CallToolResult) error {
	if t.json {
		line, err := json.Marshal(struct {
			Content    []sdk.Content `json:"content"`
			Structured any           `json:"structuredContent,omitempty"`
			IsError    bool          `json:"isError,omitempty"`
		}{res.Content, res.StructuredContent, res.IsError})
		if err == nil {
			_, err = fmt.Fprintf(t.stdout, "%s\n", line)
		}
		return err
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

// help lists the tools, or the arguments of the named tool.
func (t *terminal) help(name string) {
	for _, tool := range t.tools() {
		switch name {
		case "":
			fmt.Fprintf(t.stdout, "%-17s %s\n", tool.Name, tool.Description)
		case tool.Name:
			fmt.Fprintf(t.stdout, "%s: %s\n", tool.Name, tool.Description)
			schema := schemaOf(tool)
			for _, property := range schema.names() {
				p := schema.Properties[property]
				kind, _ := p.Type.(string)
				if slices.Contains(schema.Required, property) {
					kind += ", required"
				}
				if p.Description != "" {
					kind += ": " + p.Description
				}
				fmt.Fprintf(t.stdout, "  %-15s %s\n", property, kind)
			}
		}
	}
	if name != "" && t.tool(name) == nil {
		fail(t.stderr, t.unknown(name))
	}
}

// A schema is the part of a tool's input schema that the terminal uses.
type schema struct {
	Properties map[string]struct {
		Type        any    `json:"type"`
		Description string `json:"description"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func schemaOf(tool *sdk.Tool) schema {
	var s schema
	if data, err := json.Marshal(tool.InputSchema); err == nil {
		_ = json.Unmarshal(data, &s) // the schema is ours
	}
	return s
}

// names returns the properties in alphabetical order, required ones first.
func (s schema) names() []string {
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := slices.Contains(s.Required, a), slices.Contains(s.Required, b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// toolArguments parses the arguments of a tool: one JSON object, or words such as
// url=https://example.com. A value is JSON after :=, or if the tool does not expect a string.
func toolArguments(tool *sdk.Tool, words []string) (map[string]any, error) {
	args := map[string]any{}
	if len(words) == 1 && strings.HasPrefix(strings.TrimSpace(words[0]), "{") {
		if err := json.Unmarshal([]byte(words[0]), &args); err != nil {
			return nil, usagef("Write them as {\"url\": \"https://example.com\"}, in single quotes if a shell reads them.", "invalid JSON arguments: %v", err)
		}
		return args, nil
	}
	s := schemaOf(tool)
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		name, isJSON := strings.CutSuffix(name, ":")
		p, known := s.Properties[name]
		switch {
		case !ok:
			return nil, usagef("Write name=value, or all arguments as one JSON object.", "unexpected argument %q", word)
		case !known:
			return nil, usagef("Its arguments are "+strings.Join(s.names(), ", ")+".", "%s has no argument %q", tool.Name, name)
		}
		if _, twice := args[name]; twice {
			return nil, usagef("Remove one.", "%s is given twice", name)
		}
		var value any = text
		if isJSON || p.Type != "string" {
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				return nil, usagef(fmt.Sprintf("It must be JSON of the type %v.", p.Type), "%s: %q is not JSON", name, text)
			}
		}
		args[name] = value
	}
	return args, nil
}
