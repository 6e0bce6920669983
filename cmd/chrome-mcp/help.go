package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in `make build`.
var version string

// programVersion returns the version of this binary, or "devel" if it is unknown.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// shortHelp fits on a screen of 24 lines and 80 columns.
const shortHelp = `chrome-mcp lets an AI agent use a real Chrome, over MCP on stdin and stdout.

  chrome-mcp [flags]              run the MCP server (an MCP host starts it)
  chrome-mcp setup|doctor|install add it to an MCP host; check; get a browser
  chrome-mcp extension|stop       set up your own Chrome; disconnect it
  chrome-mcp serve|cdp-url        serve many clients; the URL for Playwright
  chrome-mcp call|shell|sessions  run tools from a terminal; list the sessions
  chrome-mcp read|skill|audit     print a page, help for agents, the audit log
  chrome-mcp secrets|dashboard    store passwords for agents; watch the agents
  chrome-mcp help COMMAND|flags   help of a command; a list of all flags

Allowed sites (none by default):
  --allow-domain PATTERN    example.com, *.example.com, http://localhost:3000
  --block-domain PATTERN    overrides --allow-domain; repeatable
  --policy FILE             rules and grants in a JSON file
Permissions (reading and navigation are always allowed on allowed sites):
  --enable-mutations        click, type, fill in forms
  --enable-downloads        save files
Which browser:
  --browser NAME|PATH       default: the first Chrome or Chromium found
  --headless                no window; the default if there is no display
  --cdp-endpoint URL        attach to a running browser
Each flag is also a variable: CHROME_MCP_ALLOW_DOMAIN=example.com.
Exit codes: 0 success, 1 runtime failure, 2 invalid flag, variable or policy.
`

func printVersion(_ *settings, stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "chrome-mcp %s\n", programVersion())
	return err
}

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
				return usagef("`chrome-mcp help` lists the commands, `chrome-mcp help flags` every flag.", "unknown help topic %q", words[0])
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
