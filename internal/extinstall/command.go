// Package extinstall installs the extension for the user's own Chrome, and registers the native messaging
// host in browsers.
package extinstall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// Command returns the command extension.
func Command(s *cli.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extension install|path|unpair|uninstall",
		Short: "set up the extension for the user's own Chrome",
		Long: `Sets up the extension for your own Chrome. --browser chrome|chromium|brave|edge selects
one browser for install and uninstall, --data DIR the data directory.`,
		RunE: cli.NeedsCommand,
	}
	cmd.AddCommand(
		s.Command("install", "write the extension to the data directory and register this program; also updates", install),
		s.Command("path", "print the directory to load in chrome://extensions", PrintPath),
		&cobra.Command{
			Use:   "unpair [NAME...]",
			Short: "unpair the named browsers, or all if none is named",
			RunE:  func(cmd *cobra.Command, names []string) error { return unpair(s, names, cmd.OutOrStdout()) },
		},
		s.Command("uninstall", "undo install, and disconnect all browsers", uninstall))
	return cmd
}

// StopCommand returns the command stop.
func StopCommand(s *cli.Settings) *cobra.Command {
	cmd := s.Command("stop [--data DIR]", "disconnect all servers from the user's Chrome", stop)
	cmd.Long = `Disconnects every server from the user's Chrome. The servers keep running and
reconnect when the program that started them is restarted, or when they receive
SIGHUP.`
	return cmd
}

// Dir returns the directory that the extension's files are written to.
func Dir(data string) string { return filepath.Join(data, "extension") }

// Installed reports whether the extension's files are in a data directory.
func Installed(data string) bool {
	return cli.Exists(filepath.Join(Dir(data), "manifest.json"))
}

// Expected reports whether a browser with the extension may connect: the extension is
// installed, or a browser is paired.
func Expected(data string) bool {
	if Installed(data) {
		return true
	}
	pairings, err := bridge.Pairings(data)
	return err != nil || len(pairings) > 0
}

// install writes the extension's files and registers the native messaging host in the
// browsers that it finds.
func install(_ context.Context, s *cli.Settings, stdout io.Writer) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return cli.Usagef("Set the variable HOME.", "%v", err)
	}
	browsers, err := browsersOf(s, home)
	if err != nil {
		return err
	}
	for _, dir := range []string{s.Data, Dir(s.Data)} {
		if err := bridge.EnsureDir(dir); err != nil {
			return err
		}
	}
	if err := extension.Write(Dir(s.Data)); err != nil {
		return err
	}
	program, err := Program(home, s.Data)
	if err != nil {
		return err
	}
	var registered []string
	var failed error
	for _, b := range browsers {
		if err := b.Register(home, filepath.Join(s.Data, "native-messaging"), program); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.Title, err))
			continue
		}
		registered = append(registered, b.Title)
	}
	fmt.Fprintf(stdout, "The extension is in %s", Dir(s.Data))
	if len(registered) > 0 {
		fmt.Fprintf(stdout, ", and the native messaging host is registered in %s", phrase.List(registered, "and"))
	}
	fmt.Fprintln(stdout, ".")
	fmt.Fprintln(stdout, "Open chrome://extensions, enable \"Developer mode\", click \"Load unpacked\" and select that directory.")
	fmt.Fprintln(stdout, "Then click the chrome-mcp button next to the address bar (in the extensions menu at first) and share a tab.")
	if len(browsers) == 0 {
		return cli.Usagef("Install Chrome, Chromium, Brave or Edge, or choose one of them with --browser. For other browsers, run chrome-mcp --print-pairing.",
			"no supported browser found")
	}
	return failed
}

// Program returns the path of the program that browsers start as the native messaging
// host. It may write a script.
func Program(home, data string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("path of this program: %w", err)
	}
	return hostProgram(self, data, data != filepath.Join(home, cli.DefaultDataName))
}

// browsersOf returns the browsers to register the native messaging host in: the one that
// --browser names, or else those that are installed or have a configuration directory.
func browsersOf(s *cli.Settings, home string) ([]Browser, error) {
	if s.Browser != "" {
		at := slices.IndexFunc(Browsers, func(b Browser) bool { return b.name == s.Browser })
		if at < 0 {
			return nil, cli.Usagef("Choose chrome, chromium, brave or edge.", "%s: unsupported browser %q", s.NameOf("browser"), s.Browser)
		}
		return Browsers[at : at+1], nil
	}
	return FoundBrowsers(home), nil
}

// FoundBrowsers returns the browsers that are installed or have a configuration directory.
func FoundBrowsers(home string) (browsers []Browser) {
	installed := map[string]bool{}
	for _, found := range chromium.Installed() {
		installed[found.Name] = true
	}
	for _, b := range Browsers {
		dir := b.manifestDir(runtime.GOOS, home, os.Getenv("XDG_CONFIG_HOME"))
		if installed[b.name] || dir != "" && cli.Exists(dir) {
			browsers = append(browsers, b)
		}
	}
	return browsers
}

// PrintPath prints the directory of the extension.
func PrintPath(_ context.Context, s *cli.Settings, stdout io.Writer) error {
	if !Installed(s.Data) {
		return cli.ErrorWithHint("Run chrome-mcp extension install first.", "the extension is not in %s", Dir(s.Data))
	}
	fmt.Fprintln(stdout, Dir(s.Data))
	return nil
}

// unpair revokes the keys of the named browsers, or of all if none is named.
func unpair(s *cli.Settings, names []string, stdout io.Writer) error {
	pairings, err := bridge.Pairings(s.Data)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(pairings, func(p bridge.Pairing) bool { return p.Installation == name }) {
			return cli.ErrorWithHint("The extension's options page shows its name. Without a name, all browsers are unpaired.", "no browser %q is paired", name)
		}
	}
	if len(pairings) == 0 {
		fmt.Fprintln(stdout, "No browser is paired.")
		return nil
	}
	n, err := bridge.Unpair(s.Data, names...)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s. Their connections were closed.\n", phrase.Count(n, "browser was unpaired", "browsers were unpaired"))
	return nil
}

// PrintPairing creates a pairing string and prints the path of its file, never the string.
func PrintPairing(s *cli.Settings, stdout, stderr io.Writer) error {
	path, err := bridge.NewPairing(s.Data)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, path)
	fmt.Fprintf(stderr, "Paste the contents of this file into the extension's options. The string is valid once, for %d minutes.\n", int(bridge.PairingLifetime.Minutes()))
	return nil
}

// stop disconnects all servers from their extensions.
func stop(_ context.Context, s *cli.Settings, stdout io.Writer) error {
	n, err := bridge.Stop(s.Data)
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(stdout, "No running server found.")
		return nil
	}
	fmt.Fprintf(stdout, "Disconnected %s from all extensions. Restart them to reconnect.\n", phrase.Count(n, "server", "servers"))
	return nil
}

// Current reports whether dir contains the extension that is embedded in this program.
func Current(dir string) bool {
	embedded := extension.Files()
	return fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !bytes.Equal(got, want) {
			err = errors.New("differs")
		}
		return err
	}) == nil
}
