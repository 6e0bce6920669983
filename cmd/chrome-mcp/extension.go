package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/extension"
)

func extensionCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extension install|path|unpair|uninstall",
		Short: "set up the extension for the user's own Chrome",
		Long: `Sets up the extension for your own Chrome. --browser chrome|chromium|brave|edge selects
one browser for install and uninstall, --data DIR the data directory.`,
		RunE: needsCommand,
	}
	cmd.AddCommand(
		s.command("install", "write the extension to the data directory and register this program; also updates", installExtension),
		s.command("path", "print the directory to load in chrome://extensions", printExtensionPath),
		&cobra.Command{
			Use:   "unpair [NAME...]",
			Short: "unpair the named browsers, or all if none is named",
			RunE:  func(cmd *cobra.Command, names []string) error { return unpair(s, names, cmd.OutOrStdout()) },
		},
		s.command("uninstall", "undo install, and disconnect all browsers", uninstallExtension))
	return cmd
}

func stopCommand(s *settings) *cobra.Command {
	cmd := s.command("stop [--data DIR]", "disconnect all servers from the user's Chrome", stop)
	cmd.Long = `Disconnects every server from the user's Chrome. The servers keep running and
reconnect when the program that started them is restarted, or when they receive
SIGHUP.`
	return cmd
}

// extensionDir returns the directory that the extension's files are written to.
func (s *settings) extensionDir() string { return filepath.Join(s.data, "extension") }

// extensionExpected reports whether a browser with the extension may connect: the extension is
// installed, or a browser is paired.
func (s *settings) extensionExpected() bool {
	if exists(filepath.Join(s.extensionDir(), "manifest.json")) {
		return true
	}
	pairings, err := bridge.Pairings(s.data)
	return err != nil || len(pairings) > 0
}

// installExtension writes the extension's files and registers the native messaging host in the
// browsers that it finds.
func installExtension(s *settings, stdout io.Writer) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return usagef("Set the variable HOME.", "%v", err)
	}
	browsers, err := s.hostBrowsers(home)
	if err != nil {
		return err
	}
	for _, dir := range []string{s.data, s.extensionDir()} {
		if err := bridge.EnsureDir(dir); err != nil {
			return err
		}
	}
	if err := extension.Write(s.extensionDir()); err != nil {
		return err
	}
	program, err := s.registeredProgram(home)
	if err != nil {
		return err
	}
	var registered []string
	var failed error
	for _, b := range browsers {
		if err := b.register(home, filepath.Join(s.data, "native-messaging"), program); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.title, err))
			continue
		}
		registered = append(registered, b.title)
	}
	fmt.Fprintf(stdout, "The extension is in %s", s.extensionDir())
	if len(registered) > 0 {
		fmt.Fprintf(stdout, ", and the native messaging host is registered in %s", list(registered, "and"))
	}
	fmt.Fprintln(stdout, ".")
	fmt.Fprintln(stdout, "Open chrome://extensions, enable \"Developer mode\", click \"Load unpacked\" and select that directory.")
	fmt.Fprintln(stdout, "Then click the chrome-mcp button next to the address bar (in the extensions menu at first) and share a tab.")
	if len(browsers) == 0 {
		return usagef("Install Chrome, Chromium, Brave or Edge, or choose one of them with --browser. For other browsers, run chrome-mcp --print-pairing.",
			"no supported browser found")
	}
	return failed
}

// registeredProgram returns the path of the program that browsers start as the native messaging
// host. It may write a script.
func (s *settings) registeredProgram(home string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("path of this program: %w", err)
	}
	return hostProgram(self, s.data, s.data != filepath.Join(home, defaultDataName))
}

// hostBrowsers returns the browsers to register the native messaging host in: the one that
// --browser names, or else those that are installed or have a configuration directory.
func (s *settings) hostBrowsers(home string) ([]hostBrowser, error) {
	if s.browser != "" {
		at := slices.IndexFunc(hostBrowsers, func(b hostBrowser) bool { return b.name == s.browser })
		if at < 0 {
			return nil, usagef("Choose chrome, chromium, brave or edge.", "%s: unsupported browser %q", s.nameOf("browser"), s.browser)
		}
		return hostBrowsers[at : at+1], nil
	}
	return foundHostBrowsers(home), nil
}

// foundHostBrowsers returns the browsers that are installed or have a configuration directory.
func foundHostBrowsers(home string) (browsers []hostBrowser) {
	installed := map[string]bool{}
	for _, found := range chromium.Installed() {
		installed[found.Name] = true
	}
	for _, b := range hostBrowsers {
		dir := b.manifestDir(runtime.GOOS, home, os.Getenv("XDG_CONFIG_HOME"))
		if installed[b.name] || dir != "" && exists(dir) {
			browsers = append(browsers, b)
		}
	}
	return browsers
}

// list joins names with commas and a conjunction.
func list(names []string, conjunction string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

func printExtensionPath(s *settings, stdout io.Writer) error {
	if !exists(filepath.Join(s.extensionDir(), "manifest.json")) {
		return errorWithHint("Run chrome-mcp extension install first.", "the extension is not in %s", s.extensionDir())
	}
	fmt.Fprintln(stdout, s.extensionDir())
	return nil
}

// unpair revokes the keys of the named browsers, or of all if none is named.
func unpair(s *settings, instances []string, stdout io.Writer) error {
	pairings, err := bridge.Pairings(s.data)
	if err != nil {
		return err
	}
	for _, name := range instances {
		if !slices.ContainsFunc(pairings, func(p bridge.Pairing) bool { return p.Instance == name }) {
			return errorWithHint("The extension's options page shows its name. Without a name, all browsers are unpaired.", "no browser %q is paired", name)
		}
	}
	if len(pairings) == 0 {
		fmt.Fprintln(stdout, "No browser is paired.")
		return nil
	}
	n, err := bridge.Unpair(s.data, instances...)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s. Their connections were closed.\n", count(n, "browser was unpaired", "browsers were unpaired"))
	return nil
}

// printPairing creates a pairing string and prints the path of its file, never the string.
func printPairing(s *settings, stdout, stderr io.Writer) error {
	path, err := bridge.NewPairing(s.data)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, path)
	fmt.Fprintf(stderr, "Paste the contents of this file into the extension's options. The string is valid once, for %d minutes.\n", int(bridge.PairingLifetime.Minutes()))
	return nil
}

// stop disconnects all servers from their extensions.
func stop(s *settings, stdout io.Writer) error {
	n, err := bridge.Stop(s.data)
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(stdout, "No running server found.")
		return nil
	}
	fmt.Fprintf(stdout, "Disconnected %s from all extensions. Restart them to reconnect.\n", count(n, "server", "servers"))
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// errorWithHint returns an error with a hint that is not a usage error.
func errorWithHint(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrNoBackend, hint, format, args...)
}
