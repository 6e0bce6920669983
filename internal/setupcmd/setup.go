// Package setupcmd is the command setup, which adds the program to the configuration of an MCP host.
package setupcmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/hostconfig"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// setupFlags are the flags of setup.
type setupFlags struct {
	project, print, remove, yes bool
}

// setupWrites are the flags that setup writes to the configuration. None but --allow-domain grants
// the agent anything.
var setupWrites = []string{"allow-domain", "block-domain", "browser", "headless", "isolated", "no-sandbox", "profile", "tools"}

// Command returns the command setup.
func Command(s *cli.Settings) *cobra.Command {
	var names []string
	for _, h := range hostconfig.Hosts() {
		names = append(names, h.Name)
	}
	var given setupFlags
	cmd := &cobra.Command{
		Use:   "setup HOST [--project] [--print | --remove] [--yes]",
		Short: "add this program to the configuration of an MCP host",
		Long: `Adds this program to the user's configuration of an MCP host, as the server "chrome", or
changes its command there. The hosts are ` + strings.Join(names[:4], ", ") + `,
` + phrase.List(names[4:], "and") + `.

The command of the host itself adds a new entry, if the host has one and it is in PATH.
Otherwise setup shows the change of the file, asks, and writes it with a backup.
Comments and all other settings remain. The entry contains --allow-domain, --block-domain,
--browser, --headless, --isolated, --no-sandbox, --profile and --tools if they are on the
command line, a profile for the host, and no permission such as --enable-mutations.

--print writes nothing, and prints the configuration for hosts that are set up by hand.`,
		Example:   "chrome-mcp setup claude-code --allow-domain example.com",
		ValidArgs: names,
		Args:      s.MaxArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			return setup(cmd, s, given, strings.Join(words, ""))
		},
	}
	cmd.Flags().BoolVar(&given.project, "project", false, "with setup: change the host's configuration in the current directory instead")
	cmd.Flags().BoolVar(&given.print, "print", false, "with setup: print the configuration and write nothing")
	cmd.Flags().BoolVar(&given.remove, "remove", false, "with setup: remove the entry")
	cmd.Flags().BoolVar(&given.yes, "yes", false, "with setup: do not ask; required without a terminal")
	return cmd
}

// setup adds this program to the configuration of an MCP host, or removes it.
func setup(cmd *cobra.Command, s *cli.Settings, given setupFlags, name string) error {
	host, err := setupHost(name)
	if err != nil {
		return err
	}
	if given.print && given.remove {
		return cli.Usagef("", "--print and --remove exclude each other")
	}
	flags, err := setupArgs(s, cmd, host)
	if err != nil {
		return err
	}
	at, err := setupLocation(host, given.project)
	if err != nil {
		return err
	}
	var entry *hostconfig.Entry // nil removes it
	if given.remove {
		for _, flag := range setupWrites {
			if s.OnCommandLine(flag) {
				return cli.Usagef("", "--remove and --%s exclude each other", flag)
			}
		}
	} else if entry, err = setupEntry(flags); err != nil {
		return err
	}
	if given.print {
		text, err := host.Fragment(*entry)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s reads this from %s:\n", host.Title, at.File())
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	change, program, args, err := planSetup(host, at, entry)
	switch {
	case err != nil:
		return setupError(host, err)
	case change.Empty() && given.remove:
		fmt.Fprintf(cmd.OutOrStdout(), "Nothing changes: %s has no entry %s.\n", change.Path, hostconfig.EntryName)
		return nil
	case change.Empty():
		fmt.Fprintf(cmd.OutOrStdout(), "Nothing changes: %s has this entry.\n", change.Path)
		return nil
	}
	if err := confirmSetup(cmd, given, change, program, args); err != nil {
		return err
	}
	if program != "" {
		err = runHost(cmd.Context(), program, args, at.Base)
		if err == nil {
			err = checkSetup(host, at, entry, program)
		}
	} else {
		var backup string
		if backup, err = change.Write(); err == nil && backup != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "The file before the change is %s.\n", backup)
		}
	}
	if err != nil {
		return setupError(host, err)
	}
	printNextSteps(cmd.OutOrStdout(), s, host, change.Path, given.remove, flags)
	return nil
}

// setupHost returns the host with a name.
func setupHost(name string) (*hostconfig.Host, error) {
	var names []string
	for _, h := range hostconfig.Hosts() {
		if h.Name == name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	hint := "The hosts are " + phrase.List(names, "and") + "."
	if name == "" {
		return nil, cli.Usagef(hint, "setup needs the name of an MCP host")
	}
	hint += " For another host, add what `chrome-mcp setup cursor --print` prints."
	return nil, cli.Usagef(hint, "unknown MCP host %q", name).DidYouMean(typo.Nearest(name, slices.Values(names)))
}

// setupArgs returns the arguments of the entry: the flags of the command line that setup writes.
func setupArgs(s *cli.Settings, cmd *cobra.Command, host *hostconfig.Host) ([]string, error) {
	flags, own := cmd.Flags(), cmd.LocalNonPersistentFlags()
	onLine := func(f *pflag.Flag) bool { return f != nil && s.OnCommandLine(f.Name) }
	var args []string
	var unknown error
	flags.Visit(func(f *pflag.Flag) {
		if onLine(f) && own.Lookup(f.Name) == nil && !slices.Contains(setupWrites, f.Name) && unknown == nil {
			unknown = cli.Usagef("It writes only "+flagList(setupWrites)+". Add others to the file by hand.", "setup does not write --%s", f.Name)
		}
	})
	if unknown != nil {
		return nil, unknown
	}
	only := &cli.Settings{Given: func(string) bool { return false }}
	for _, name := range setupWrites {
		f := flags.Lookup(name)
		if !onLine(f) {
			continue
		}
		switch value, text := f.Value, f.Value.String(); {
		case value.Type() == "stringArray":
			for _, v := range value.(pflag.SliceValue).GetSlice() {
				args = append(args, "--"+name, v)
			}
		case value.Type() != "bool":
			args = append(args, "--"+name, text)
		case text == "true":
			args = append(args, "--"+name)
		default:
			args = append(args, "--"+name+"=false")
		}
		switch name {
		case "allow-domain":
			only.AllowDomain = s.AllowDomain
		case "block-domain":
			only.BlockDomain = s.BlockDomain
		}
	}
	if _, err := compose.Policy(only); err != nil {
		return nil, err
	}
	switch {
	case onLine(flags.Lookup("isolated")) || onLine(flags.Lookup("profile")):
	case host.Isolated:
		args = append(args, "--isolated")
	default: // two hosts cannot use a profile at the same time
		args = append(args, "--profile", host.Name)
	}
	return args, nil
}

// flagList returns the names of flags for a sentence.
func flagList(names []string) string {
	flags := make([]string, len(names))
	for i, name := range names {
		flags[i] = "--" + name
	}
	return phrase.List(flags, "and")
}

// setupLocation returns the file that setup changes.
func setupLocation(host *hostconfig.Host, project bool) (hostconfig.Location, error) {
	if project {
		dir, err := os.Getwd()
		if err != nil {
			return hostconfig.Location{}, err
		}
		at, err := host.Project(dir)
		if err != nil {
			return at, cli.Usagef("Omit --project to change the user's configuration.", "%s %w", host.Title, err)
		}
		return at, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return hostconfig.Location{}, cli.Usagef("Set the variable HOME.", "%v", err)
	}
	return host.User(hostconfig.Environment{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}), nil
}

// setupEntry returns how a host starts this program with flags.
func setupEntry(flags []string) (*hostconfig.Entry, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	entry, err := entryOf(self, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	entry.Args = append(entry.Args, flags...)
	for _, word := range append([]string{entry.Command}, entry.Args...) {
		if !utf8.ValidString(word) {
			return nil, cli.Usagef("Move the program to another directory.", "%q is not valid UTF-8, which configurations of MCP hosts require", word)
		}
	}
	return &entry, nil
}

// entryOf returns how a host starts the program at a path. It prefers the name of the program in
// PATH, which often is a link to the current version, and uses npx for a program in npm's cache.
func entryOf(self, goos string) (hostconfig.Entry, error) {
	slashed := filepath.ToSlash(self)
	if before, after, ok := strings.Cut(slashed, "/_npx/"); ok {
		hash, _, _ := strings.Cut(after, "/")
		return npxEntry(filepath.FromSlash(before+"/_npx/"+hash), goos)
	}
	if strings.Contains(slashed, "/go-build") {
		return hostconfig.Entry{}, cli.Usagef("Install it first: go install ./cmd/chrome-mcp.", "%s is temporary: go run removes it", self)
	}
	if found, err := exec.LookPath("chrome-mcp"); err == nil && filepath.IsAbs(found) && cli.SameFile(found, self) {
		self = found
	}
	return hostconfig.Entry{Command: self}, nil
}

// npxEntry returns the command line with which npx created a directory of its cache.
func npxEntry(dir, goos string) (hostconfig.Entry, error) {
	var manifest struct {
		Npx struct {
			Packages []string `json:"packages"`
		} `json:"_npx"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil || len(manifest.Npx.Packages) == 0 {
		return hostconfig.Entry{}, cli.Usagef("Install the package with npm install --global, and run setup again.", "%s does not name the packages of npx", filepath.Join(dir, "package.json"))
	}
	words := []string{"npx", "-y"}
	if goos == "windows" { // npx is a batch file there
		words = []string{"cmd", "/c", "npx", "-y"}
	}
	for _, p := range manifest.Npx.Packages {
		words = append(words, "-p", p)
	}
	words = append(words, "chrome-mcp")
	return hostconfig.Entry{Command: words[0], Args: words[1:]}, nil
}

// planSetup returns the change of the host's file, and the program of the host that makes this
// change, with its arguments, if there is one. Only a new entry and a removal are left to the host:
// its program would drop the other settings of an existing entry.
func planSetup(host *hostconfig.Host, at hostconfig.Location, entry *hostconfig.Entry) (change *hostconfig.Change, program string, args []string, err error) {
	change, err = host.Change(at, entry)
	program, args = host.Command(entry)
	if err != nil || at.Project || program == "" || entry != nil && change.Found != nil {
		return change, "", nil, err
	}
	path, err := exec.LookPath(program)
	if err != nil || !filepath.IsAbs(path) {
		return change, "", nil, nil
	}
	if extension := strings.ToLower(filepath.Ext(path)); extension == ".cmd" || extension == ".bat" {
		return change, "", nil, nil // a shell would interpret the arguments
	}
	return change, path, args, nil
}

// isOurs reports whether an entry starts this program, in any version and under any name.
func isOurs(e hostconfig.Entry) bool {
	if self, err := os.Executable(); err == nil && cli.SameFile(e.Command, self) {
		return true
	}
	return slices.ContainsFunc(append([]string{e.Command}, e.Args...), func(word string) bool {
		base := word[strings.LastIndexAny(word, `/\`)+1:]
		return strings.HasPrefix(base, "chrome-mcp")
	})
}

// confirmSetup shows the change and asks, unless --yes is set.
func confirmSetup(cmd *cobra.Command, given setupFlags, change *hostconfig.Change, program string, args []string) error {
	other := change.Found != nil && !isOurs(change.Found.Entry)
	switch {
	case given.yes && other:
		return cli.Usagef("Run setup in a terminal without --yes to see and confirm the change.",
			"the entry %s in %s starts another program, %q", hostconfig.EntryName, change.Path, change.Found.Command)
	case given.yes:
		return nil
	case !cli.IsTerminal(cmd.InOrStdin()):
		return cli.Usagef("Add --yes to change the configuration without asking, or --print to see what to add.", "setup asks before it changes %s, and stdin is not a terminal", change.Path)
	}
	out := cmd.OutOrStdout()
	if program != "" {
		fmt.Fprintf(out, "This command of the host changes %s:\n%s\n", change.Path, hostconfig.Printable(shellLine(program, args)))
	} else {
		fmt.Fprint(out, change.Diff())
	}
	if other {
		fmt.Fprintf(out, "The entry %s starts another program, %q.\n", hostconfig.EntryName, change.Found.Command)
	}
	fmt.Fprint(cmd.ErrOrStderr(), "Continue? [y/N] ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case a := <-answer:
		if a == "y" || a == "yes" {
			return nil
		}
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.ErrOrStderr())
	}
	fmt.Fprintln(out, "Nothing was changed.")
	return &cli.Reported{Exit: cli.ExitFailed}
}

// shellLine returns a command line for a shell.
func shellLine(program string, args []string) string {
	words := append([]string{program}, args...)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n\"'`$\\*?[]{}()<>|&;#~!") {
			words[i] = cli.ShellQuote(word)
		}
	}
	return strings.Join(words, " ")
}

const (
	// hostTimeout is how long the command of a host may take. It may start Node, and check for updates.
	hostTimeout = 2 * time.Minute
	// maxHostOutput is how much of its output an error contains.
	maxHostOutput = 2000
)

// runHost runs a command of a host, without a shell, in the home directory: in a project, it could
// read the configuration of that project.
func runHost(ctx context.Context, program string, args []string, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		cmd.Dir = dir
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	text := hostconfig.Printable(string(bytes.TrimSpace(out[:min(len(out), maxHostOutput)])))
	return fmt.Errorf("%s: %w\n%s", shellLine(program, args), err, text)
}

// checkSetup checks that the command of a host did what it should.
func checkSetup(host *hostconfig.Host, at hostconfig.Location, entry *hostconfig.Entry, program string) error {
	change, _, _, err := planSetup(host, at, entry)
	if err == nil && !change.Empty() {
		err = fmt.Errorf("%s succeeded, but %s does not have the change", program, change.Path)
	}
	return err
}

// setupError returns err with a hint.
func setupError(host *hostconfig.Host, err error) error {
	hint := "`chrome-mcp setup " + host.Name + " --print` prints what to add by hand."
	syntax, ok := errors.AsType[*hostconfig.SyntaxError](err)
	switch {
	case ok && syntax != nil:
		hint = "Correct the file and repeat the command. Nothing was changed."
	case errors.Is(err, hostconfig.ErrChanged):
		hint = "Repeat the command to see the change again. Nothing was changed."
	case errors.Is(err, hostconfig.ErrSymlink):
		hint = "setup does not follow links. " + hint
	}
	return cli.ErrorWithHint(hint, "%w", err)
}

// printNextSteps prints what setup did and what the user does next.
func printNextSteps(out io.Writer, s *cli.Settings, host *hostconfig.Host, path string, removed bool, flags []string) {
	if removed {
		fmt.Fprintf(out, "Removed the entry %s from %s. Restart %s if it is running.\n", hostconfig.EntryName, path, host.Title)
		return
	}
	fmt.Fprintf(out, "%s has the entry %s. Restart %s if it is running.\n", path, hostconfig.EntryName, host.Title)
	if runtime.GOOS == "linux" && os.Geteuid() == 0 && !slices.Contains(flags, "--no-sandbox") {
		fmt.Fprintln(out, "Chromium does not start as root: repeat the command with --no-sandbox, or use another user.")
	}
	_, err := chromium.FindIn(s.Data, s.Browser)
	if e, ok := errors.AsType[*executor.Error](err); ok {
		fmt.Fprintf(out, "The agent has no browser yet: %s. %s\n", e.Message(), hint.Translate(e.Hint))
	}
	if !slices.Contains(flags, "--allow-domain") {
		fmt.Fprintln(out, "No site is allowed yet: repeat the command with --allow-domain example.com, or answer when you are prompted.")
		return
	}
	site := strings.TrimPrefix(s.AllowDomain[0], "*.")
	if !strings.Contains(site, "://") {
		scheme := "https://"
		if host, _, _ := strings.Cut(site, ":"); host == "localhost" || host == "127.0.0.1" {
			scheme = "http://"
		}
		site = scheme + site
	}
	fmt.Fprintf(out, "Then try this prompt: Open %s and list its links.\n", site)
}
