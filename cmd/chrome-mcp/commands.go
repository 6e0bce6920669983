package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// newRoot returns the commands of the program.
func newRoot(args, environ []string) *cobra.Command {
	var pairing, extensionPath bool
	return cli.NewRoot(args, environ, cli.Program{
		Version: programVersion(),
		Help:    shortHelp,
		Commands: func(s *cli.Settings) []*cobra.Command {
			return []*cobra.Command{
				agentsCommand(s), auditCommand(s), callCommand(s), cdpURLCommand(s), dashboardCommand(s), doctorCommand(s),
				extensionCommand(s), installCommand(s), nativeHostCommand(s), profileCommand(s), readCommand(s), secretsCommand(s),
				serveCommand(s), sessionsCommand(s), setupCommand(s), shellCommand(s), skillCommand(s), stopCommand(s),
			}
		},
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&pairing, "print-pairing", false, "create a pairing string and print the path of its file")
			fs.BoolVar(&extensionPath, "print-extension-path", false, "print the extension directory (same as chrome-mcp extension path)")
		},
		Run: func(cmd *cobra.Command, s *cli.Settings) error {
			switch {
			case s.Connect != "":
				return connect(cmd, s)
			case s.ConnectToken != "":
				return cli.Usagef("", "%s requires --connect URL", s.NameOf("connect-token-file"))
			case s.ConnectHTTP:
				return cli.Usagef("", "%s requires --connect URL", s.NameOf("unsafe-connect-http"))
			case s.PrincipalFile != "":
				return cli.Usagef("", "%s requires --connect SOCKET", s.NameOf("principal-file"))
			case s.OnCommandLine("session"):
				return cli.Usagef("", "--session requires call, shell or --connect")
			case pairing && extensionPath:
				return cli.Usagef("", "--print-pairing and --print-extension-path exclude each other")
			case pairing:
				return printPairing(s, cmd.OutOrStdout(), cmd.ErrOrStderr())
			case extensionPath:
				return printExtensionPath(s, cmd.OutOrStdout())
			case s.Given("cdp-clients") && s.CDPListen == "":
				return cli.Usagef("Set --cdp-listen 127.0.0.1:0.", "%s needs --cdp-listen", s.NameOf("cdp-clients"))
			}
			return serve(cmd.Context(), s, 0, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	})
}
