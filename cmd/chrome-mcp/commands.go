package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

func init() {
	cobra.MousetrapHelpText = "" // on Windows, cobra would exit if a desktop MCP host starts the program
}

// newRoot returns the program's commands, and the settings that they read from the flags in args
// and from the environment. The root command serves MCP.
func newRoot(args, environ []string) (*cobra.Command, *settings) {
	s, groups := define()
	s.args = args
	root := &cobra.Command{
		Use:           "chrome-mcp",
		Long:          shortHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          s.maxArgs(0),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case s.version:
				cmd.RunE = s.command("", "", printVersion).RunE
				return nil
			case slices.Contains([]string{"completion", "help", "schema", "skill", "version", cobra.ShellCompRequestCmd}, cmd.Name()):
				return nil // these read no settings
			}
			err := s.load(cmd.Flags(), groups, environ)
			if err != nil && cmd.Name() == "stop" && s.loadData(cmd.Flags(), groups, environ) == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: the settings are ignored, because %v\n", err)
				return nil
			}
			return err
		},
		RunE: s.runRoot,
	}
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetHelpFunc(printHelp)
	root.SetFlagErrorFunc(s.flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)

	other := pflag.NewFlagSet("Other", pflag.ContinueOnError)
	other.SortFlags = false
	help := helpCommand(append(groups, flagGroup{"Other", other}))
	root.SetHelpCommand(help)
	root.AddCommand(agentsCommand(s), auditCommand(s), callCommand(s), cdpURLCommand(s), completionCommand(s), configCommand(s, groups), dashboardCommand(s), doctorCommand(s), extensionCommand(s), installCommand(s),
		nativeHostCommand(s), profileCommand(s), readCommand(s), secretsCommand(s), serveCommand(s), sessionsCommand(s), setupCommand(s), shellCommand(s), skillCommand(s), stopCommand(s), s.command("version", "print the version", printVersion))
	help.ValidArgs = append(commandNames(root), "flags", "help")
	for _, cmd := range root.Commands() {
		other.AddFlagSet(cmd.Flags())
		if cmd.Name() == "secrets" || cmd.Name() == "agents" {
			for _, sub := range cmd.Commands() {
				other.AddFlagSet(sub.Flags())
			}
		}
	}
	other.BoolVar(&s.printPairing, "print-pairing", false, "create a pairing string and print the path of its file")
	other.BoolVar(&s.printExtensionPath, "print-extension-path", false, "print the extension directory (same as chrome-mcp extension path)")
	root.Flags().AddFlagSet(other) // flags of a command may precede it

	root.PersistentFlags().BoolVar(&s.version, "version", false, "print the version")
	root.PersistentFlags().BoolP("help", "h", false, "print a short help")
	other.AddFlagSet(root.PersistentFlags())
	for _, g := range groups {
		root.PersistentFlags().AddFlagSet(g.flags)
	}
	completeFlags(root)
	return root, s
}

// runRoot runs the program without a command.
func (s *settings) runRoot(cmd *cobra.Command, _ []string) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) { err = cmp.Or(err, misplaced(cmd, f.Name)) })
	if s.connect != "" {
		err = cmp.Or(err, s.listenersUnused(cmd.Flags(), "with --connect"))
	}
	switch {
	case err != nil:
		return err
	case isURL(s.connect):
		return connectURL(cmd, s)
	case s.connectToken != "":
		return usagef("", "%s requires --connect URL", s.nameOf("connect-token-file"))
	case s.connectHTTP:
		return usagef("", "%s requires --connect URL", s.nameOf("unsafe-connect-http"))
	case s.connect != "":
		return connectSocket(cmd, s)
	case s.principalFile != "":
		return usagef("", "%s requires --connect SOCKET", s.nameOf("principal-file"))
	case cmd.Flags().Changed("session") && s.sources["session"] == "":
		return usagef("", "--session requires call, shell or --connect")
	case s.printPairing && s.printExtensionPath:
		return usagef("", "--print-pairing and --print-extension-path exclude each other")
	case s.printPairing:
		return printPairing(s, cmd.OutOrStdout(), cmd.ErrOrStderr())
	case s.printExtensionPath:
		return printExtensionPath(s, cmd.OutOrStdout())
	}
	if s.given("cdp-clients") && s.cdpListen == "" {
		return usagef("Set --cdp-listen 127.0.0.1:0.", "%s needs --cdp-listen", s.nameOf("cdp-clients"))
	}
	return serve(cmd.Context(), s, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// needsCommand is the error of a command that only has other commands below it.
func needsCommand(cmd *cobra.Command, words []string) error {
	hint := "The commands are " + cmd.Name() + " " + list(commandNames(cmd), "and") + "."
	if len(words) == 0 {
		return usagef(hint, "%s needs a command", cmd.Name())
	}
	return usagef(hint, "unknown command \"%s %s\"", cmd.Name(), words[0])
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

// command returns a command without arguments.
func (s *settings) command(use, short string, run func(s *settings, stdout io.Writer) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: s.maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(s, cmd.OutOrStdout()) }}
}

// maxArgs returns the check that a command has at most n arguments.
func (s *settings) maxArgs(n int) cobra.PositionalArgs {
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
			return usagef(hint, "unexpected argument %q", word)
		}
		names := commandNames(cmd)
		hint := "The commands are " + list(names, "and") + "; without a command, it serves MCP on stdin and stdout."
		return usagef(hint, "unknown command %q", word).didYouMean(typo.Nearest(word, slices.Values(names)))
	}
}

// booleanHint returns the hint for a word that is the value of a boolean flag, which needs a =.
func (s *settings) booleanHint(word string) string {
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
		return usagef("", "--%s requires %s", flag, list(names, "or"))
	case cmd.HasParent() && cmd.Root().Flags().Lookup(flag) != nil:
		return usagef("", "--%s cannot be combined with a command", flag)
	}
	return nil
}
