// Package profilecmd is the command profile, which lists, empties and removes the profiles of managed
// browsers.
package profilecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
)

// Command returns the command profile.
func Command(s *cli.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "list, empty or remove the profiles of managed browsers",
		Args:  s.MaxArgs(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return printProfiles(cmd.Context(), s, cmd.OutOrStdout()) },
	}
	change := func(verb, short, done string, run func(ctx context.Context, dataDir, name string) error) *cobra.Command {
		return s.NameCommand(verb, "profile", "chrome-mcp profile list", short, func(ctx context.Context, name string, stdout io.Writer) error {
			err := run(ctx, s.Data, name)
			e, _ := errors.AsType[*executor.Error](err)
			switch {
			case errors.Is(err, chromium.ErrProfileInUse):
				return cli.WithHint(e, "Close the session or the program that uses it; `chrome-mcp sessions list` lists those of the server.")
			case errors.Is(err, executor.ErrBadArgs):
				return cli.WithHint(e, "`chrome-mcp profile list` lists the profiles.")
			case err != nil:
				return err
			}
			_, err = fmt.Fprintf(stdout, "%s profile %s\n", done, name)
			return err
		})
	}
	cmd.AddCommand(
		s.Command("list", "list the profiles with size and last use", printProfiles),
		change("reset", "empty a profile that is not in use: its cookies, logins and settings", "emptied", chromium.ResetProfile),
		change("remove", "remove a profile that is not in use", "removed", chromium.RemoveProfile),
	)
	return cmd
}

// printProfiles prints the profiles in the data directory.
func printProfiles(_ context.Context, s *cli.Settings, stdout io.Writer) error {
	profiles, err := chromium.Profiles(s.Data)
	if err != nil {
		return err
	}
	if len(profiles) == 0 {
		_, err := fmt.Fprintln(stdout, "no profiles")
		return err
	}
	for _, p := range profiles {
		line := fmt.Sprintf("%-20s %s", p.Name, cli.FormatBytes(p.Bytes))
		if !p.LastUsed.IsZero() {
			line += ", last used " + p.LastUsed.Format(time.DateTime)
		}
		if p.InUse {
			line += ", in use"
		}
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	return nil
}
