package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/internal/agentcmd"
	"github.com/chrome-mcp/chrome-mcp/internal/auditcmd"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpendpoint"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/client"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/dashboardcmd"
	"github.com/chrome-mcp/chrome-mcp/internal/doctor"
	"github.com/chrome-mcp/chrome-mcp/internal/extinstall"
	"github.com/chrome-mcp/chrome-mcp/internal/nativehost"
	"github.com/chrome-mcp/chrome-mcp/internal/profilecmd"
	"github.com/chrome-mcp/chrome-mcp/internal/readcmd"
	"github.com/chrome-mcp/chrome-mcp/internal/secretcmd"
	"github.com/chrome-mcp/chrome-mcp/internal/serve"
	"github.com/chrome-mcp/chrome-mcp/internal/setupcmd"
	"github.com/chrome-mcp/chrome-mcp/internal/skillcmd"
)

// newRoot returns the commands of the program.
func newRoot(args, environ []string) *cobra.Command {
	var pairing, extensionPath bool
	return cli.NewRoot(args, environ, cli.Program{
		Version: programVersion(),
		Help:    shortHelp,
		Commands: func(s *cli.Settings) []*cobra.Command {
			return []*cobra.Command{
				agentcmd.Command(s), auditcmd.Command(s), client.CallCommand(s), cdpendpoint.Command(s), cdpendpoint.ClientsCommand(s), dashboardcmd.Command(s), doctor.Command(s),
				extinstall.Command(s), doctor.InstallCommand(s), nativehost.Command(s), profilecmd.Command(s), readcmd.Command(s), secretcmd.Command(s),
				serve.Command(s), serve.SessionsCommand(s), setupcmd.Command(s), client.ShellCommand(s), skillcmd.Command(s), extinstall.StopCommand(s),
			}
		},
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&pairing, "print-pairing", false, "create a pairing string and print the path of its file")
			fs.BoolVar(&extensionPath, "print-extension-path", false, "print the extension directory (same as chrome-mcp extension path)")
		},
		Run: func(cmd *cobra.Command, s *cli.Settings) error {
			if err := client.CheckFlags(s); err != nil {
				return err
			}
			switch {
			case s.Connect != "":
				return client.Connect(cmd, s)
			case s.OnCommandLine("session"):
				return cli.Usagef("", "--session requires call, shell or --connect")
			case pairing && extensionPath:
				return cli.Usagef("", "--print-pairing and --print-extension-path exclude each other")
			case pairing:
				return extinstall.PrintPairing(s, cmd.OutOrStdout(), cmd.ErrOrStderr())
			case extensionPath:
				return extinstall.PrintPath(cmd.Context(), s, cmd.OutOrStdout())
			case s.Given("cdp-clients") && s.CDPListen == "":
				return cli.Usagef("Set --cdp-listen 127.0.0.1:0.", "%s needs --cdp-listen", s.NameOf("cdp-clients"))
			}
			return compose.ServeStdio(cmd.Context(), s, 0, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	})
}
