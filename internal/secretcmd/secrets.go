// Package secretcmd is the command secrets, which keeps the values that agents type without seeing them.
package secretcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// secretFlags are the flags of secrets set.
type secretFlags struct {
	origins             []string
	selector, reference string
	keyring             bool
	moves               bool // --keyring was given: otherwise a value remains in the keyring
}

// Command returns the command secrets.
func Command(s *cli.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets set|list|remove|test",
		Short: "passwords and one-time codes that agents type without seeing them",
		Long: `Keeps passwords, TOTP seeds and user names that agents type without seeing them. An agent
writes {{NAME.FIELD}}, such as {{github.password}} or {{github.totp}}, and the value is
entered only on the sites of the secret, and only into fields for passwords and one-time
codes, or those of --selector. The field totp holds a seed, whose current code is entered;
username is masked only as a complete value. All other field names are up to you.

set reads the value from the terminal or from stdin. It is stored in the data directory,
in the keyring of the operating system, or only in 1Password.`,
		RunE: cli.NeedsCommand,
	}
	var given secretFlags
	set := &cobra.Command{
		Use:   "set NAME.FIELD [--origin URL] [--selector CSS] [--keyring | --op REF]",
		Short: "set a field; a new secret needs --origin",
		RunE: func(cmd *cobra.Command, words []string) error {
			given.moves = cmd.Flags().Changed("keyring")
			return setSecret(cmd.Context(), s, words, &given, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set.Flags().StringArrayVar(&given.origins, "origin", nil, "with secrets set: allow the site at `URL`, such as https://github.com; repeatable; replaces the sites")
	set.Flags().StringVar(&given.selector, "selector", "", "with secrets set: also enter it into fields that match `CSS`, such as #login_field")
	set.Flags().BoolVar(&given.keyring, "keyring", false, "with secrets set: store the value in the keyring of the operating system; false moves it to the file")
	set.Flags().StringVar(&given.reference, "op", "", "with secrets set: read the value from 1Password when it is needed, by `REF`, such as op://Private/GitHub/password")
	cmd.AddCommand(set,
		s.Command("list", "print names, sites and stores", listSecrets),
		&cobra.Command{
			Use:   "remove NAME[.FIELD]",
			Short: "remove a secret or one of its fields, also from the keyring",
			RunE: func(cmd *cobra.Command, words []string) error {
				return removeSecret(cmd.Context(), s, words, cmd.OutOrStdout())
			},
		},
		&cobra.Command{
			Use:   "test [NAME[.FIELD]]",
			Short: "check that the values can be read, without printing them",
			RunE: func(cmd *cobra.Command, words []string) error {
				return testSecrets(cmd.Context(), s, words, cmd.OutOrStdout())
			},
		})
	return cmd
}

// secretArg returns the name and the field in the only argument of a command. It does not repeat
// other arguments, which may be a value.
func secretArg(command string, words []string) (name, field string, err error) {
	if len(words) != 1 {
		return "", "", cli.Usagef("Write it as `chrome-mcp secrets "+command+"`. A value is never an argument: other users could see it.", "secrets %s takes one argument, not %d", command, len(words))
	}
	if name, field, err = secrets.SplitName(words[0]); err != nil {
		return "", "", cli.Usagef("Write it as `chrome-mcp secrets "+command+"`.", "%v", err)
	}
	return name, field, nil
}

func setSecret(ctx context.Context, s *cli.Settings, words []string, given *secretFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	vault := secrets.Open(s.Data)
	const use = "set NAME.FIELD"
	name, field, err := secretArg(use, words)
	switch {
	case err != nil:
		return err
	case field == "":
		return cli.Usagef("Name a field, such as "+name+".password.", "secrets %s: %q has no field", use, name)
	case given.keyring && given.reference != "":
		return cli.Usagef("Pass only one of them.", "--keyring and --op exclude each other")
	}
	// The vault reports the first two as well, but only when the user has typed the value.
	known, err := vault.Fields()
	if err != nil {
		return secretsError(err)
	}
	i := slices.IndexFunc(known, func(f secrets.FieldInfo) bool { return f.Name == name })
	if i < 0 && len(given.origins) == 0 {
		return cli.Usagef("Add the site, such as `--origin https://github.com`.", "secret %s does not exist, and a new one needs --origin", name)
	}
	old := slices.IndexFunc(known, func(f secrets.FieldInfo) bool { return f.Name == name && f.Field == field })
	change := secrets.Change{Name: name, Field: field, Selector: given.selector, Store: secrets.StoreFile}
	for _, o := range given.origins {
		u, err := policy.ParseURL(o)
		if err == nil && u.IsBlank() {
			err = fmt.Errorf("%q has no origin", o)
		}
		if err != nil {
			return cli.Usagef("Pass an origin such as https://github.com.", "--origin: %v", err)
		}
		if err := secrets.CheckOrigin(u.Origin()); err != nil {
			return cli.Usagef("", "--origin: %v", err)
		}
		change.Origins = append(change.Origins, u.Origin())
	}
	if given.reference != "" {
		change.Store, change.Value = secrets.StoreOnePassword, given.reference
	} else {
		if given.keyring || !given.moves && old >= 0 && known[old].Store == secrets.StoreKeyring {
			change.Store = secrets.StoreKeyring
		}
		if change.Value, err = readSecret(ctx, name+"."+field, stdin, stderr); err != nil {
			return err
		}
	}
	if err := vault.Set(ctx, change); err != nil {
		return secretsError(err)
	}
	origins := change.Origins
	if len(origins) == 0 {
		origins = known[i].Origins
	}
	fmt.Fprintf(stdout, "%s.%s is set in %s, for %s.\n", name, field, storeNames[change.Store], strings.Join(origins, " and "))
	return nil
}

// storeNames are the stores in messages.
var storeNames = map[secrets.Store]string{
	secrets.StoreFile:        secrets.FileName,
	secrets.StoreKeyring:     "the keyring",
	secrets.StoreOnePassword: "1Password",
}

// maxSecretInput is the maximum number of bytes that are read as a value.
const maxSecretInput = 64 << 10

// readSecret reads a value from the terminal, without echo, or from stdin up to its end. If ctx
// is done first, it returns the cause; the read, which cannot be canceled, ends with the process.
func readSecret(ctx context.Context, name string, stdin io.Reader, stderr io.Writer) (string, error) {
	var data []byte
	var err error
	read := func() { data, err = io.ReadAll(io.LimitReader(stdin, maxSecretInput)) }
	if f, ok := stdin.(*os.File); ok && cli.IsTerminal(stdin) {
		fd := int(f.Fd())
		var echo *term.State
		if echo, err = term.GetState(fd); err != nil {
			return "", err
		}
		defer term.Restore(fd, echo)
		fmt.Fprintf(stderr, "Value of %s (not shown): ", name)
		defer fmt.Fprintln(stderr)
		read = func() { data, err = term.ReadPassword(fd) }
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		read()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if value == "" {
		return "", cli.Usagef("Type it, or pipe it: `pass show github | chrome-mcp secrets set "+name+"`.", "the value of %s is empty", name)
	}
	if strings.Contains(value, "\n") {
		return "", cli.Usagef("Pass only the value: `pass show github | head -n 1 | chrome-mcp secrets set "+name+"`.", "the value of %s has several lines", name)
	}
	return value, nil
}

// secretsError returns err with a hint, if it has one.
func secretsError(err error) error {
	if errors.Is(err, secrets.ErrKeyring) {
		e := cli.Usagef("Unlock the keyring, or start one, such as GNOME Keyring or KWallet on Linux.", "%w", err)
		e.Exit = errclass.ExitFailed
		return e
	}
	if e, ok := errors.AsType[*secrets.FileError](err); ok {
		return cli.Usagef(e.Hint, "%v", e)
	}
	if errors.Is(err, secrets.ErrUnknown) {
		return cli.Usagef("`chrome-mcp secrets list` lists them.", "%v", err)
	}
	return err
}

func listSecrets(_ context.Context, s *cli.Settings, stdout io.Writer) error {
	vault := secrets.Open(s.Data)
	list, err := vault.Fields()
	if err != nil {
		return secretsError(err)
	}
	if len(list) == 0 {
		fmt.Fprintln(stdout, noSecrets)
		return nil
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, d := range list {
		fmt.Fprintf(w, "%s.%s\t%s\t%s", d.Name, d.Field, d.Store, strings.Join(d.Origins, " "))
		if d.Selector != "" {
			fmt.Fprintf(w, "\t%s", d.Selector)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func removeSecret(ctx context.Context, s *cli.Settings, words []string, stdout io.Writer) error {
	vault := secrets.Open(s.Data)
	name, field, err := secretArg("remove NAME[.FIELD]", words)
	if err != nil {
		return err
	}
	if err := vault.Remove(ctx, name, field); err != nil {
		return secretsError(err)
	}
	fmt.Fprintf(stdout, "%s is removed.\n", words[0])
	return nil
}

// noSecrets is printed by commands that have nothing to print.
const noSecrets = "No secrets. `chrome-mcp secrets set` adds one."

// testSecrets reads the values and prints whether that succeeds.
func testSecrets(ctx context.Context, s *cli.Settings, words []string, stdout io.Writer) error {
	vault := secrets.Open(s.Data)
	name, field := "", ""
	if len(words) > 0 {
		var err error
		if name, field, err = secretArg("test [NAME[.FIELD]]", words); err != nil {
			return err
		}
	}
	list, err := vault.Test(ctx, name, field)
	if err != nil {
		return secretsError(err)
	}
	if len(list) == 0 {
		fmt.Fprintln(stdout, noSecrets)
		return nil
	}
	failed := 0
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, t := range list {
		verdict := "ok"
		switch {
		case t.Err != nil:
			failed++
			verdict = vault.Mask(t.Err.Error())
		case !t.Clock.IsZero():
			verdict = fmt.Sprintf("ok; the code is valid for %d s if the clock of this machine, %s UTC, is right",
				int(t.Valid/time.Second), t.Clock.UTC().Format("2006-01-02 15:04:05"))
		}
		fmt.Fprintf(w, "%s.%s\t%s\t%s\n", t.Name, t.Field, t.Store, verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d values cannot be used", failed, len(list))
	}
	return nil
}
