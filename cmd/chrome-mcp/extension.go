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

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/extension"
)

const extensionCommands = "The commands are extension install, path, unpair and uninstall."

// extensionCommand does what follows `chrome-mcp extension`.
func extensionCommand(s *settings, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return usagef(extensionCommands, "extension needs a command")
	}
	if len(args) > 1 && args[0] != "unpair" {
		return usagef(extensionCommands, "unexpected argument %q", args[1])
	}
	switch args[0] {
	case "install":
		return installExtension(s, stdout)
	case "path":
		return printExtensionPath(s, stdout)
	case "unpair":
		return unpair(s, args[1:], stdout)
	case "uninstall":
		return uninstallExtension(s, stdout)
	}
	return usagef(extensionCommands, "unknown command \"extension %s\"", args[0])
}

// extensionFolder is where the extension's files are written.
func (s *settings) extensionFolder() string { return filepath.Join(s.data, "extension") }

// extensionExpected reports whether a browser with the extension may connect:
// it was installed, or a browser is paired.
func (s *settings) extensionExpected() bool {
	if exists(filepath.Join(s.extensionFolder(), "manifest.json")) {
		return true
	}
	pairings, err := bridge.Pairings(s.data)
	return err != nil || len(pairings) > 0
}

// installExtension writes the extension, and tells each browser that is found
// how to start the native messaging host.
func installExtension(s *settings, stdout io.Writer) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return usagef("Set the variable HOME.", "%v", err)
	}
	browsers, err := s.hostBrowsers(home)
	if err != nil {
		return err
	}
	for _, folder := range []string{s.data, s.extensionFolder()} {
		if err := bridge.MakeFolder(folder); err != nil {
			return err
		}
	}
	if err := extension.Write(s.extensionFolder()); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program: %w", err)
	}
	program, err := hostProgram(self, s.data, s.data != filepath.Join(home, defaultDataName))
	if err != nil {
		return err
	}
	var told []string
	var failed error
	for _, b := range browsers {
		if err := b.register(home, filepath.Join(s.data, "native-messaging"), program); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.title, err))
			continue
		}
		told = append(told, b.title)
	}
	fmt.Fprintf(stdout, "The extension is in %s", s.extensionFolder())
	if len(told) > 0 {
		fmt.Fprintf(stdout, ", and %s will find this program", list(told))
	}
	fmt.Fprintln(stdout, ".")
	fmt.Fprintln(stdout, "Open chrome://extensions, switch on \"Developer mode\", press \"Load unpacked\" and choose that folder.")
	fmt.Fprintln(stdout, "Then press the chrome-mcp button beside the address bar (behind the puzzle piece at first) and share a tab.")
	if len(browsers) == 0 {
		return usagef("Install Chrome, Chromium, Brave or Edge, or name one of them with --browser. Without that, pair by chrome-mcp --print-pairing.",
			"no browser was found that could be told of this program")
	}
	return failed
}

// hostBrowsers returns the browsers to tell of the host: the one that is
// named, or else those that are installed or were used.
func (s *settings) hostBrowsers(home string) ([]hostBrowser, error) {
	if s.browser != "" {
		at := slices.IndexFunc(hostBrowsers, func(b hostBrowser) bool { return b.name == s.browser })
		if at < 0 {
			return nil, usagef("Name chrome, chromium, brave or edge.", "%s: %q is not a browser that can be told of this program", s.named("browser"), s.browser)
		}
		return hostBrowsers[at : at+1], nil
	}
	installed := map[string]bool{}
	for _, found := range chromium.Installed() {
		installed[found.Name] = true
	}
	var browsers []hostBrowser
	for _, b := range hostBrowsers {
		folder := b.folder(runtime.GOOS, home, os.Getenv("XDG_CONFIG_HOME"))
		if installed[b.name] || folder != "" && exists(folder) {
			browsers = append(browsers, b)
		}
	}
	return browsers, nil
}

// list joins names as a sentence does.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func printExtensionPath(s *settings, stdout io.Writer) error {
	if !exists(filepath.Join(s.extensionFolder(), "manifest.json")) {
		return hinted("Run chrome-mcp extension install first.", "the extension is not in %s", s.extensionFolder())
	}
	fmt.Fprintln(stdout, s.extensionFolder())
	return nil
}

// unpair takes the keys of browsers back, of all when none is named.
func unpair(s *settings, instances []string, stdout io.Writer) error {
	pairings, err := bridge.Pairings(s.data)
	if err != nil {
		return err
	}
	for _, name := range instances {
		if !slices.ContainsFunc(pairings, func(p bridge.Pairing) bool { return p.Instance == name }) {
			return hinted("The extension's options show its name. Without a name, every browser is unpaired.", "no browser %q is paired", name)
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
	fmt.Fprintf(stdout, "%s: what they had open ends within a second.\n", count(n, "browser was unpaired", "browsers were unpaired"))
	return nil
}

// printPairing makes a pairing string and tells where it is, never what it is.
func printPairing(s *settings, stdout, stderr io.Writer) error {
	path, err := bridge.NewPairing(s.data)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, path)
	fmt.Fprintf(stderr, "Paste what is in this file into the extension's options. It works once, for %d minutes.\n", int(bridge.PairingLifetime.Minutes()))
	return nil
}

// stop ends the sessions of all servers.
func stop(s *settings, stdout io.Writer) error {
	n, err := bridge.Stop(s.data)
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(stdout, "No server runs that an extension could be connected to.")
		return nil
	}
	fmt.Fprintf(stdout, "%s to let go of every extension, within a second, until started again.\n", count(n, "server was told", "servers were told"))
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// hinted returns an error that is no mistake in the flags, with a hint.
func hinted(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrNoBackend, hint, format, args...)
}
