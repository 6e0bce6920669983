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
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// extension tells whether the user's own Chrome can be reached. That it cannot
// is nothing essential.
func (r *report) extension(s *settings) {
	const install = "chrome-mcp extension install sets it up, and says how to load it."
	if !exists(filepath.Join(s.extensionFolder(), "manifest.json")) {
		r.say(notice, "extension", "not set up, so that your own Chrome cannot be used")
		r.hint(install)
		return
	}
	if current(s.extensionFolder()) {
		r.say(good, "extension", "in %s", s.extensionFolder())
	} else {
		r.say(notice, "extension", "in %s, of another version than this program", s.extensionFolder())
		r.hint("chrome-mcp extension install renews it; then press the round arrow on it in chrome://extensions.")
	}
	r.servers(s)
	home, err := os.UserHomeDir()
	if err != nil || runtime.GOOS == "windows" { // there it is in the registry
		return
	}
	var told []string
	for _, b := range hostBrowsers {
		path := filepath.Join(b.folder(runtime.GOOS, home, os.Getenv("XDG_CONFIG_HOME")), "NativeMessagingHosts", wire.HostName+".json")
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var m hostManifest
		if json.Unmarshal(data, &m) != nil || !exists(m.Path) {
			r.say(notice, "", "%s would start %s, which is not there", b.title, m.Path)
			r.hint(install)
			continue
		}
		told = append(told, b.title)
	}
	switch {
	case len(told) > 0:
		r.say(good, "", "%s can find the servers that run", list(told))
	default:
		r.say(notice, "", "no browser was told how to find the servers that run")
		r.hint(install)
	}
}

// servers tells which servers an extension can connect to, and which browsers
// have keys of their own.
func (r *report) servers(s *settings) {
	for _, server := range bridge.Live(s.data) {
		r.say(good, "", "a server of %s runs on port %d, process %d", server.Name, server.Port, server.PID)
	}
	if paired, err := bridge.Pairings(s.data); err != nil {
		r.say(notice, "", "pairings: %v", err)
	} else if len(paired) > 0 {
		r.say(good, "", "%s; chrome-mcp extension unpair takes that back", count(len(paired), "browser is paired by a key of its own", "browsers are paired by keys of their own"))
	}
}

// current reports whether the extension in folder is the one that this program
// carries.
func current(folder string) bool {
	carried := extension.Files()
	return fs.WalkDir(carried, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := fs.ReadFile(carried, name)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err == nil && !bytes.Equal(got, want) {
			err = errors.New("is another one")
		}
		return err
	}) == nil
}
