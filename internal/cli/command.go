package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// NeedsCommand is the error of a command that only has other commands below it.
func NeedsCommand(cmd *cobra.Command, words []string) error {
	hint := "The commands are " + cmd.Name() + " " + phrase.List(commandNames(cmd), "and") + "."
	if len(words) == 0 {
		return Usagef(hint, "%s needs a command", cmd.Name())
	}
	return Usagef(hint, "unknown command \"%s %s\"", cmd.Name(), words[0])
}

// commandNames returns the names of the commands below one that are not hidden.
func commandNames(parent *cobra.Command) []string {
	var names []string
	for _, c := range parent.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// Command returns a command without arguments.
func (s *Settings) Command(use, short string, run func(ctx context.Context, s *Settings, stdout io.Writer) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: s.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), s, cmd.OutOrStdout()) }}
}

// NameCommand returns a command VERB NAME for things of a kind, which the command list prints.
func (s *Settings) NameCommand(
	verb, kind, list, short string, run func(ctx context.Context, name string, stdout io.Writer) error,
) *cobra.Command {
	return &cobra.Command{Use: verb + " NAME", Short: short, Args: s.MaxArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				return Usagef("`"+list+"` lists them.", "name the %s to %s", kind, verb)
			}
			return run(cmd.Context(), words[0], cmd.OutOrStdout())
		}}
}

// MaxArgs returns the check that a command has at most n arguments.
func (s *Settings) MaxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, words []string) error {
		if len(words) <= n {
			return nil
		}
		word := words[n]
		if hint := s.booleanHint(word); hint != "" || cmd.HasParent() {
			if hint == "" {
				path, _, _ := strings.Cut(cmd.UseLine(), " [flags]")
				hint = "Write it as `" + path + "`; flags begin with --."
				if cmd.Name() == "shell" {
					hint += " call takes a tool and its arguments."
				}
			}
			return Usagef(hint, "unexpected argument %q", word)
		}
		names := commandNames(cmd)
		hint := "The commands are " + phrase.List(names, "and") + "; without a command, it serves MCP on stdin and stdout."
		return Usagef(hint, "unknown command %q", word).DidYouMean(typo.Nearest(word, slices.Values(names)))
	}
}

// booleanHint returns the hint for a word that is the value of a boolean flag, which needs a =.
func (s *Settings) booleanHint(word string) string {
	if word != "true" && word != "false" {
		return ""
	}
	for i := 1; i < len(s.args); i++ {
		if s.args[i] == word && strings.HasPrefix(s.args[i-1], "--") && !strings.Contains(s.args[i-1], "=") {
			return fmt.Sprintf("Write %s=%s.", s.args[i-1], word)
		}
	}
	return ""
}

// misplaced returns the error about a flag that belongs to other commands than cmd, or nil.
func misplaced(cmd *cobra.Command, flag string) error {
	if cmd.Root().PersistentFlags().Lookup(flag) != nil { // of all commands
		return nil
	}
	var names []string
	for _, c := range cmd.Root().Commands() {
		if c.LocalNonPersistentFlags().Lookup(flag) != nil {
			names = append(names, c.Name())
		}
	}
	switch {
	case len(names) > 0:
		return Usagef("", "--%s requires %s", flag, phrase.List(names, "or"))
	case cmd.HasParent() && cmd.Root().Flags().Lookup(flag) != nil:
		return Usagef("", "--%s cannot be combined with a command", flag)
	}
	return nil
}
