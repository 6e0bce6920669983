package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
)

// extension reports whether the user's Chrome can be reached. It is not essential.
func (r *report) extension(s *settings) {
	const install = "Run chrome-mcp extension install; it prints how to load the extension."
	if !exists(filepath.Join(s.extensionDir(), "manifest.json")) {
		r.say(notice, "extension", "not installed: agents cannot use your Chrome")
		r.hint(install)
		return
	}
	if current(s.extensionDir()) {
		r.say(good, "extension", "in %s", s.extensionDir())
	} else {
		r.say(notice, "extension", "in %s, version differs from this program", s.extensionDir())
		r.hint("Run chrome-mcp extension install, then click the reload icon of the extension in chrome://extensions.")
	}
	r.servers(s)
	home, err := os.UserHomeDir()
	if err != nil || runtime.GOOS == "windows" { // Windows has it in the registry
		return
	}
	var registered []string
	for _, b := range hostBrowsers {
		switch program, found := b.registered(home); {
		case !found:
		case !exists(program):
			r.say(notice, "", "%s is registered to start %s, which does not exist", b.title, program)
			r.hint(install)
		default:
			registered = append(registered, b.title)
		}
	}
	switch {
	case len(registered) > 0:
		r.say(good, "", "native messaging host is registered in %s", list(registered, "and"))
	default:
		r.say(notice, "", "native messaging host is not registered in any browser")
		r.hint(install)
	}
}

// registered returns the program that the browser starts as the native messaging host, which may be
// "" or no longer exist. found is false if none is registered, and on Windows.
func (b hostBrowser) registered(home string) (program string, found bool) {
	data, err := os.ReadFile(b.manifestFile(home))
	if err != nil {
		return "", false
	}
	var m hostManifest
	if json.Unmarshal(data, &m) != nil {
		return "", true
	}
	return m.Path, true
}

// servers lists the running servers that an extension can connect to, and counts the paired
// browsers.
func (r *report) servers(s *settings) {
	for _, server := range bridge.RunningServers(s.data) {
		r.say(good, "", "server of %s: port %d, process %d", server.Name, server.Port, server.PID)
	}
	if paired, err := bridge.Pairings(s.data); err != nil {
		r.say(notice, "", "pairings: %v", err)
	} else if len(paired) > 0 {
		r.say(good, "", "%s; undo it with chrome-mcp extension unpair", count(len(paired), "browser is paired", "browsers are paired"))
	}
}

// current reports whether dir contains the extension that is embedded in this program.
func current(dir string) bool {
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
