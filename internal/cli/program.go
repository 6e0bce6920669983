package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func init() {
	cobra.MousetrapHelpText = "" // on Windows, cobra would exit if a desktop MCP host starts the program
}

// A Program is what NewRoot makes commands of.
type Program struct {
	Version string
	Help    string // without a command
	// Commands returns the commands, except for completion, config, help and version.
	Commands func(s *Settings) []*cobra.Command
	// Flags defines flags that only Run uses. It may be nil.
	Flags func(fs *pflag.FlagSet)
	// Run runs the program without a command.
	Run func(cmd *cobra.Command, s *Settings) error
}

// NewRoot returns the commands of a program, with their flags, which they read from args and the
// environment.
func NewRoot(args, environ []string, p Program) *cobra.Command {
	root, _ := newRoot(args, environ, p)
	return root
}

// newRoot also returns the settings that the commands read.
func newRoot(args, environ []string, p Program) (*cobra.Command, *Settings) {
	s, groups := define()
	s.args, s.Version = args, p.Version
	showVersion := false
	root := &cobra.Command{
		Use:           "chrome-mcp",
		Long:          p.Help,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          s.MaxArgs(0),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case showVersion:
				cmd.RunE = s.Command("", "", printVersion).RunE
				return nil
			case slices.Contains([]string{
				"completion", "help", "schema", "skill", "version", cobra.ShellCompRequestCmd,
			}, cmd.Name()):
				return nil // these read no settings
			}
			err := s.load(cmd.Flags(), groups, environ)
			if err != nil && cmd.Name() == "stop" && s.loadData(cmd.Flags(), groups, environ) == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: the settings are ignored, because %v\n", err)
				return nil
			}
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			cmd.Flags().Visit(func(f *pflag.Flag) { err = cmp.Or(err, misplaced(cmd, f.Name)) })
			if err != nil {
				return err
			}
			return p.Run(cmd, s)
		},
	}
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetHelpFunc(printHelp)
	root.SetFlagErrorFunc(s.flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)

	other := pflag.NewFlagSet("Other", pflag.ContinueOnError)
	other.SortFlags = false
	help := helpCommand(append(groups, flagGroup{title: "Other", flags: other}))
	root.SetHelpCommand(help)
	root.AddCommand(p.Commands(s)...)
	root.AddCommand(completionCommand(s), configCommand(s, groups),
		s.Command("version", "print the version", printVersion))
	help.ValidArgs = append(commandNames(root), "flags", "help")
	for _, cmd := range root.Commands() {
		other.AddFlagSet(cmd.Flags())
		if cmd.Name() == "secrets" || cmd.Name() == "agents" {
			for _, sub := range cmd.Commands() {
				other.AddFlagSet(sub.Flags())
			}
		}
	}
	if p.Flags != nil {
		p.Flags(other)
	}
	root.Flags().AddFlagSet(other) // flags of a command may precede it

	root.PersistentFlags().BoolVar(&showVersion, "version", false, "print the version")
	root.PersistentFlags().BoolP("help", "h", false, "print a short help")
	other.AddFlagSet(root.PersistentFlags())
	for _, g := range groups {
		root.PersistentFlags().AddFlagSet(g.flags)
	}
	completeFlags(root)
	return root, s
}

// Parse returns the settings of a program without commands.
func Parse(args, environ []string) (*Settings, error) {
	root, s := newRoot(args, environ, Program{
		Commands: func(*Settings) []*cobra.Command { return nil },
		Run:      func(*cobra.Command, *Settings) error { return nil },
	})
	return s, root.Execute()
}

func printVersion(_ context.Context, s *Settings, stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "chrome-mcp %s\n", s.Version)
	return err
}
