package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// helpCommand prints help, and the flags in groups.
func helpCommand(groups []flagGroup) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|flags]",
		Short: "print a short help, the help of a command, or all flags",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			topic, _, err := cmd.Root().Find(words)
			switch {
			case len(words) == 0 || topic == cmd:
				return cmd.Root().Help()
			case words[0] == "flags":
				printFlags(cmd.OutOrStdout(), groups)
				return nil
			case err != nil || !topic.HasParent():
				return Usagef("`chrome-mcp help` lists the commands, `chrome-mcp help flags` every flag.",
					"unknown help topic %q", words[0])
			}
			return topic.Help()
		},
	}
}

// printHelp prints the short help of the program, or the help of a command. The commands below
// a command share its help.
func printHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	if !cmd.HasParent() {
		fmt.Fprint(out, cmd.Long)
		return
	}
	for cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	fmt.Fprintf(out, "%s %s [flags]\n\n%s\n", cmd.Root().Name(), cmd.Use, cmp.Or(cmd.Long, cmd.Short))
	for _, sub := range cmd.Commands() {
		fmt.Fprintf(out, "\n%s %s\n  %s\n", cmd.CommandPath(), sub.Use, sub.Short)
	}
	if cmd.HasExample() {
		fmt.Fprintf(out, "\n%s\n", cmd.Example)
	}
}

// printFlags prints all flags in their groups.
func printFlags(w io.Writer, groups []flagGroup) {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n", g.title)
		fmt.Fprint(w, g.flags.FlagUsagesWrapped(96))
	}
	fmt.Fprintln(w, "\nEach flag, except those under Other, is also an environment variable: CHROME_MCP_ and its")
	fmt.Fprintln(w, "name in capitals, with _ for -, as in CHROME_MCP_ALLOW_DOMAIN. The flag overrides it. If a")
	fmt.Fprintln(w, "flag is repeatable, its variable is a comma-separated list. CHROME_MCP_USERDATA is another")
	fmt.Fprintln(w, "name of CHROME_MCP_DATA, and CHROME_MCP_WS_PORT of CHROME_MCP_PORT. Flags and variables override the")
	fmt.Fprintln(w, "file of --config, whose settings have the names of the flags without dashes.")
}
