package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// ShellCommand returns the command shell.
func ShellCommand(s *cli.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shell [--json]",
		Short: "call the tools that lines of stdin name",
		Long: `Calls the tools that the lines of stdin name, one after another, in the session that
call uses. A line is split into words like the line of a POSIX shell, with quotes and
backslashes. help lists the tools, help TOOL the arguments of a tool, exit quits. With
--json each line of the output is a JSON object, also that of help. The exit code is
that of call, for the last line that failed.`,
		Example: `  navigate url=https://example.com
  type selector="#street" text="Main Street 1"
  click {"selector": "text=Sign in"}`,
		Args: s.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return WithExitCode(shell(cmd, s)) },
	}
	s.AddJSONFlag(cmd)
	return cmd
}

// shell calls, one after another, the tools that the lines of stdin name.
func shell(cmd *cobra.Command, s *cli.Settings) error {
	ctx, stdin, stderr := cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr()
	t, err := StartTerminal(cmd, s)
	if err != nil {
		return err
	}
	interactive := cli.IsTerminal(stdin)
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
		in.Buffer(nil, maxArguments)
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
	var failed *cli.Reported
	for prompt(); ; prompt() {
		select {
		case line := <-lines:
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case name == "" || strings.HasPrefix(name, "#"):
				continue
			case name == "exit" || name == "quit":
				return t.Finish(failed, nil)
			case name == "help":
				if err := t.help(strings.TrimSpace(rest)); err != nil {
					return t.Finish(failed, err)
				}
				continue
			}
			words, err := arguments(rest)
			var bad *cli.Reported
			if err == nil {
				bad, err = t.call(ctx, name, words)
			}
			if usage, ok := errors.AsType[*cli.UsageError](err); ok {
				bad, err = &cli.Reported{Exit: usage.ExitCode()}, t.reject(usage)
			} else if err != nil {
				bad, err = t.report(err)
			}
			if bad != nil {
				failed = bad
			}
			if err != nil {
				return t.Finish(failed, err)
			}
		case err := <-scanned:
			return t.Finish(failed, err)
		case <-ctx.Done():
			return t.Finish(failed, nil)
		}
	}
}

// help lists the tools, or the arguments of the named tool.
func (t *Terminal) help(name string) error {
	if _, ok := t.tool(name); name != "" && !ok {
		return t.reject(t.unknown(name))
	}
	if t.JSON {
		return t.helpJSON(name)
	}
	for _, tool := range t.tools() {
		switch name {
		case "":
			fmt.Fprintf(t.stdout, "%-17s %s\n", tool.Name, tool.Description)
		case tool.Name:
			fmt.Fprintf(t.stdout, "%s: %s\n", tool.Name, tool.Description)
			schema := SchemaOf(tool)
			for _, property := range schema.Names() {
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
	return nil
}

// helpJSON prints the description and the schema of the tools, or of the named tool, as one line.
func (t *Terminal) helpJSON(name string) error {
	type description struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	tools := []description{}
	for _, tool := range t.tools() {
		if name == "" || name == tool.Name {
			tools = append(tools, description{tool.Name, tool.Description, tool.InputSchema})
		}
	}
	return json.NewEncoder(t.stdout).Encode(map[string]any{"tools": tools})
}
