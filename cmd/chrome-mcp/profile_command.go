package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
)

func profileCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "list, empty or remove the profiles of managed browsers",
		Args:  s.maxArgs(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return printProfiles(s, cmd.OutOrStdout()) },
	}
	change := func(verb, short, done string, run func(ctx context.Context, dataDir, name string) error) *cobra.Command {
		return &cobra.Command{
			Use:   verb + " NAME",
			Short: short,
			Args:  s.maxArgs(1),
			RunE: func(cmd *cobra.Command, words []string) error {
				if len(words) == 0 {
					return usagef("`chrome-mcp profile list` lists them.", "name the profile to %s", verb)
				}
				err := run(cmd.Context(), s.data, words[0])
				e, _ := errors.AsType[*executor.Error](err)
				switch {
				case errors.Is(err, chromium.ErrProfileInUse):
					return badProfile(e, "Close the session or the program that uses it; `chrome-mcp sessions list` lists those of the server.")
				case errors.Is(err, executor.ErrBadArgs):
					return badProfile(e, "`chrome-mcp profile list` lists the profiles.")
				case err != nil:
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s profile %s\n", done, words[0])
				return err
			},
		}
	}
	cmd.AddCommand(
		s.command("list", "list the profiles with size and last use", printProfiles),
		change("reset", "empty a profile that is not in use: its cookies, logins and settings", "emptied", chromium.ResetProfile),
		change("remove", "remove a profile that is not in use", "removed", chromium.RemoveProfile),
	)
	return cmd
}

// badProfile returns e with another hint.
func badProfile(e *executor.Error, hint string) error {
	c := *e
	c.Hint = hint
	return &c
}

// printProfiles prints the profiles in the data directory.
func printProfiles(s *settings, stdout io.Writer) error {
	profiles, err := chromium.Profiles(s.data)
	if err != nil {
		return err
	}
	if len(profiles) == 0 {
		_, err := fmt.Fprintln(stdout, "no profiles")
		return err
	}
	for _, p := range profiles {
		line := fmt.Sprintf("%-20s %s", p.Name, formatBytes(p.Bytes))
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

// formatBytes returns a size as a number of the largest unit that is not larger than it.
func formatBytes(size int64) string {
	for _, unit := range byteUnits {
		if size >= int64(unit.size) {
			return fmt.Sprintf("%.3g %s", float64(size)/float64(unit.size), unit.suffix)
		}
	}
	return fmt.Sprintf("%d B", size)
}
