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

	"github.com/chrome-mcp/chrome-mcp/internal/typo"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// call calls a tool of a server of its own, and those after each "then", until
// one cannot do it, and prints what they answer.
func call(ctx context.Context, s *settings, words []string, stdin io.Reader, stdout, stderr io.Writer) error {
	calls := [][]string{nil}
	for _, word := range words {
		if word == "then" {
			calls = append(calls, nil)
			continue
		}
		calls[len(calls)-1] = append(calls[len(calls)-1], word)
	}
	if slices.ContainsFunc(calls, func(c []string) bool { return len(c) == 0 }) {
		return usagef("chrome-mcp call chrome_status, say; `help` in chrome-mcp shell lists them.", "call needs the name of a tool")
	}
	t, err := startTerminal(ctx, s, stdout, stderr)
	if err != nil {
		return err
	}
	failed := false
	for _, c := range calls {
		if slices.Equal(c[1:], []string{"-"}) {
			var text []byte
			if text, err = io.ReadAll(io.LimitReader(stdin, maxLine+1)); err != nil {
				break
			}
			if len(text) > maxLine {
				err = tooLong()
				break
			}
			c = []string{c[0], string(text)}
		}
		if failed, err = t.call(ctx, c[0], c[1:]); failed || err != nil {
			break
		}
	}
	return t.over(failed, err)
}

// maxLine bounds the arguments of one call.
const maxLine = 1 << 20

func tooLong() error {
	return usagef("Make several calls of it.", "the arguments of one call have %d bytes at most", maxLine)
}

// shell calls the tools that the lines of stdin name, one after the other, of
// one server of its own.
func shell(ctx context.Context, s *settings, stdin io.Reader, stdout, stderr io.Writer) error {
	t, err := startTerminal(ctx, s, stdout, stderr)
	if err != nil {
		return err
	}
	typed := isTerminal(stdin)
	prompt := func() {
		if typed {
			fmt.Fprint(stderr, "chrome> ")
		}
	}
	if typed {
		fmt.Fprintln(stderr, "A tool and its arguments on each line, snapshot or navigate url=https://example.com; help lists them, exit ends.")
	}
	// A line that never comes must not outlive an interrupt.
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
	failed := false
	for prompt(); ; prompt() {
		select {
		case line := <-lines:
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case name == "" || strings.HasPrefix(name, "#"):
				continue
			case name == "exit" || name == "quit":
				return t.over(failed, nil)
			case name == "help":
				t.help(strings.TrimSpace(rest))
				continue
			}
			bad, err := t.call(ctx, name, arguments(rest))
			var usage *usageError
			if errors.As(err, &usage) {
				bad, err = true, t.refuse(usage)
			}
			if failed = failed || bad; err != nil {
				return t.over(failed, err)
			}
		case err := <-scanned:
			return t.over(failed, err)
		case <-ctx.Done():
			return t.over(failed, nil)
		}
	}
}

// refuse tells of a line of the shell that calls nothing.
func (t *terminal) refuse(usage *usageError) error {
	if !t.json {
		fail(t.stderr, usage)
		return nil
	}
	return t.print(&sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%v. %s", usage, usage.hint)}}})
}

// arguments returns the words after a tool's name on a line: JSON is one.
func arguments(rest string) []string {
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "{") {
		return []string{rest}
	}
	return strings.Fields(rest)
}

// A terminal is a client of a server in this process, for people and scripts.
type terminal struct {
	session        *sdk.ClientSession
	tools          []*sdk.Tool
	json           bool
	stdout, stderr io.Writer
	stdin          io.Closer  // the server's
	ran            chan error // what serving ended with
}

// startTerminal starts a server and begins a session with it.
func startTerminal(ctx context.Context, s *settings, stdout, stderr io.Writer) (*terminal, error) {
	s.structured = s.structured || s.json
	if !s.given("tools") {
		s.tools = mcp.Toolsets() // they cost a person nothing
	}
	s.closeTimeout = 10 * time.Second // no host waits to kill it
	requests, toServer := io.Pipe()
	fromServer, answers := io.Pipe()
	t := &terminal{json: s.json, stdout: stdout, stderr: stderr, stdin: toServer, ran: make(chan error, 1)}
	go func() {
		err := serve(ctx, s, requests, answers, stderr)
		requests.Close()
		answers.Close()
		t.ran <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "chrome-mcp " + s.command[0], Version: programVersion()}, nil)
	session, err := client.Connect(ctx, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err == nil {
		var list *sdk.ListToolsResult
		if list, err = session.ListTools(ctx, nil); err == nil {
			t.session, t.tools = session, list.Tools
			return t, nil
		}
	}
	if ended := t.end(); ended != nil {
		return nil, ended // that is why
	}
	return nil, err
}

// end ends the server and with it the browser.
func (t *terminal) end() error {
	t.stdin.Close()
	return <-t.ran
}

// over ends the server and tells how the whole went.
func (t *terminal) over(failed bool, err error) error {
	if err = errors.Join(err, t.end()); err == nil && failed {
		return errReported
	}
	return err
}

// call calls a tool and prints what it answers: text, or with --json all of
// it. failed tells that the tool did not do it, and that was printed.
func (t *terminal) call(ctx context.Context, name string, words []string) (failed bool, err error) {
	i := slices.IndexFunc(t.tools, func(tool *sdk.Tool) bool { return tool.Name == name })
	if i < 0 {
		return false, t.unknown(name)
	}
	args, err := toolArguments(t.tools[i], words)
	if err != nil {
		return false, err
	}
	res, err := t.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if ctx.Err() != nil {
		return true, nil // interrupted
	}
	if err != nil {
		return false, err
	}
	return res.IsError, t.print(res)
}

func (t *terminal) unknown(name string) error {
	hint := "`help` in chrome-mcp shell lists the tools."
	for _, tool := range t.tools {
		if typo.Distance(tool.Name, name) <= 2 {
			hint = "Did you mean " + tool.Name + "?"
		}
	}
	return usagef(hint, "there is no tool %q", name)
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

// help lists the tools, or the arguments of one.
func (t *terminal) help(name string) {
	for _, tool := range t.tools {
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
	if name != "" && !slices.ContainsFunc(t.tools, func(tool *sdk.Tool) bool { return tool.Name == name }) {
		fail(t.stderr, t.unknown(name))
	}
}

// A schema is what of a tool's input schema matters to a person who types.
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
		_ = json.Unmarshal(data, &s) // it is ours
	}
	return s
}

// names returns the properties in order, those that are required first.
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

// toolArguments makes a tool's arguments of one JSON object, or of words such
// as url=https://example.com: a value is text where the tool wants text, and
// JSON elsewhere.
func toolArguments(tool *sdk.Tool, words []string) (map[string]any, error) {
	args := map[string]any{}
	if len(words) == 1 && strings.HasPrefix(strings.TrimSpace(words[0]), "{") {
		if err := json.Unmarshal([]byte(words[0]), &args); err != nil {
			return nil, usagef("Write them as {\"url\": \"https://example.com\"}, in single quotes where a shell reads them.", "the arguments are not JSON: %v", err)
		}
		return args, nil
	}
	s := schemaOf(tool)
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		p, known := s.Properties[name]
		switch {
		case !ok:
			return nil, usagef("Give name=value, or all arguments as one JSON object.", "unexpected argument %q", word)
		case !known:
			return nil, usagef("It has "+strings.Join(s.names(), ", ")+".", "%s has no argument %q", tool.Name, name)
		}
		if _, twice := args[name]; twice {
			return nil, usagef("Leave one out.", "%s is given twice", name)
		}
		var value any = text
		if p.Type != "string" {
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				return nil, usagef(fmt.Sprintf("It wants JSON of the type %v.", p.Type), "%s: %q is not JSON", name, text)
			}
		}
		args[name] = value
	}
	return args, nil
}
