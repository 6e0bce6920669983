// Package agentcmd is the command agents, which configures the agents of the side panel.
package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/agents"
	"github.com/chrome-mcp/chrome-mcp/internal/chat"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// Command returns the command agents.
func Command(s *cli.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents list|add|remove|test",
		Short: "agents that the side panel of the extension can start",
		Long: `Configures the agents of the side panel: programs that speak the Agent Client Protocol
on stdin and stdout. Known agents in PATH are found; they start only after agents add.
Nothing is downloaded. chrome-mcp does not confine the tools that an agent already has.`,
		RunE: cli.NeedsCommand,
	}
	var files bool
	add := &cobra.Command{
		Use:   "add NAME [--files] [-- PROGRAM [ARGUMENT …]]",
		Short: "add an agent; a found one needs no program",
		RunE: func(cmd *cobra.Command, words []string) error {
			a := agents.Agent{Files: files}
			return addAgent(s.Data, a, words, cmd.ArgsLenAtDash(), cmd.OutOrStdout())
		},
	}
	add.Flags().BoolVar(&files, "files", false, "with agents add: let the agent read and write files in the chat's directory through chrome-mcp")
	named := func(verb, short string, run func(ctx context.Context, name string, stdout io.Writer) error) *cobra.Command {
		return s.NameCommand(verb, "agent", "chrome-mcp agents list", short, func(ctx context.Context, name string, stdout io.Writer) error {
			return agentError(run(ctx, name, stdout))
		})
	}
	cmd.AddCommand(
		s.Command("list", "list the agents, and those in PATH that were not added", printAgents),
		add,
		named("remove", "remove an agent", func(_ context.Context, name string, stdout io.Writer) error {
			if err := agents.Remove(s.Data, name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(stdout, "removed agent %s\n", name)
			return err
		}),
		named("test", "start an agent, ask what it is, and end it", func(ctx context.Context, name string, stdout io.Writer) error {
			return testAgent(ctx, s.Data, name, stdout)
		}),
	)
	return cmd
}

// agentError returns err with a hint for the command line.
func agentError(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if ok && errors.Is(err, agents.ErrNotFound) {
		return cli.WithHint(e, "`chrome-mcp agents list` lists the agents.")
	}
	return err
}

// addAgent adds the agent NAME with the command after --, or the found agent NAME. dash is the
// number of words before --, or -1.
func addAgent(data string, a agents.Agent, words []string, dash int, stdout io.Writer) error {
	const form = "Write it as `chrome-mcp agents add NAME -- PROGRAM ARGUMENT …`."
	switch {
	case len(words) == 0 || dash == 0:
		return cli.Usagef(form, "name the agent to add")
	case dash < 0 && len(words) > 1 || dash > 1:
		return cli.Usagef(form, "unexpected argument %q", words[1])
	case dash == len(words):
		return cli.Usagef(form, "no program after --")
	case dash < 0:
		found := agents.Found()
		i := slices.IndexFunc(found, func(f agents.Agent) bool { return f.Name == words[0] })
		if i < 0 {
			return cli.Usagef("Give its program: "+form, "no known agent %q in PATH", words[0])
		}
		a.Command = found[i].Command
	default:
		program, err := exec.LookPath(words[1])
		if err == nil {
			program, err = filepath.Abs(program)
		}
		if err != nil {
			return cli.Usagef("Install it, or give its path.", "program of agent %s: %v", words[0], err)
		}
		a.Command = append([]string{program}, words[2:]...)
	}
	a.Name = words[0]
	if err := agents.Add(data, a); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "added agent %s: %s\n`chrome-mcp agents test %s` tests it.\n", a.Name, quotedCommand(a.Command), a.Name)
	return err
}

// printAgents prints the configured agents, and those that were found.
func printAgents(_ context.Context, s *cli.Settings, stdout io.Writer) error {
	all, err := agents.Load(s.Data)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(agents.Found(), func(f agents.Agent) bool {
		return slices.ContainsFunc(all, func(a agents.Agent) bool {
			return strings.EqualFold(a.Name, f.Name) || slices.Equal(a.Command, f.Command)
		})
	})
	if len(all)+len(found) == 0 {
		_, err := fmt.Fprintln(stdout, "no agents; `chrome-mcp agents add NAME -- PROGRAM ARGUMENT …` adds one")
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, a := range all {
		note := ""
		if a.Files {
			note = "\tfiles"
		}
		fmt.Fprintf(w, "%s\t%s%s\n", a.Name, quotedCommand(a.Command), note)
	}
	for _, a := range found {
		fmt.Fprintf(w, "%s\t%s\tfound, not added\n", a.Name, quotedCommand(a.Command))
	}
	return w.Flush()
}

// quotedCommand returns a command with quotes around words that need them.
func quotedCommand(command []string) string {
	words := slices.Clone(command)
	for i, word := range words {
		if quoted := fmt.Sprintf("%q", word); word == "" || strings.ContainsAny(word, " '") || quoted != `"`+word+`"` {
			words[i] = quoted
		}
	}
	return strings.Join(words, " ")
}

// testAgent starts an agent in an empty directory and prints what it says about itself.
func testAgent(ctx context.Context, data, name string, stdout io.Writer) error {
	a, err := agents.Get(data, name)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "chrome-mcp-agent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	info, err := chat.Probe(ctx, a, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	yes := map[bool]string{true: "yes", false: "no"}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", orUnknown(info.Name))
	fmt.Fprintf(w, "version\t%s\n", orUnknown(info.Version))
	fmt.Fprintf(w, "protocol version\t%d\n", info.Protocol)
	fmt.Fprintf(w, "continues chats\t%s\n", yes[info.Load])
	fmt.Fprintf(w, "accepts quotes as resources\t%s\n", yes[info.Embed])
	if len(info.Login) > 0 {
		fmt.Fprintf(w, "logins\t%s\n", strings.Join(info.Login, ", "))
	}
	return w.Flush()
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
