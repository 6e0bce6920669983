package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func completionCommand(s *Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "print shell completion code",
		Long: `Prints shell code that completes commands, flags, their values, and tools. For bash,
install the package bash-completion and add to ~/.bashrc:
source <(chrome-mcp completion bash)`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      s.MaxArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch strings.Join(words, "") {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return Usagef("Add this to ~/.bashrc: source <(chrome-mcp completion bash)",
				"completion needs the name of a shell: bash, zsh or fish")
		},
	}
}

// completeFlags completes the values of the root command's flags.
func completeFlags(root *cobra.Command) {
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		var words []string
		if limited, ok := f.Value.(limitedValue); ok {
			words = limited.allowed()
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		switch kind, _ := pflag.UnquoteUsage(f); kind {
		case "FILE", "NAME|PATH":
			directive = cobra.ShellCompDirectiveDefault
		case "DIR":
			directive = cobra.ShellCompDirectiveFilterDirs
		}
		_ = root.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, directive)) // f exists
	})
}
