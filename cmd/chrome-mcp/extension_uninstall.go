package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// uninstallExtension undoes installExtension: browsers do not start this
// program any more, the keys of those that were paired are taken back, servers
// let go of all of them, and the files are gone. What other installations of the program have is left alone.
func uninstallExtension(s *settings, stdout io.Writer) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return usagef("Set the variable HOME.", "%v", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program: %w", err)
	}
	script := filepath.Join(s.data, "native-host")
	if runtime.GOOS == "windows" {
		script += ".bat"
	}
	browsers := hostBrowsers
	if s.browser != "" {
		if browsers, err = s.hostBrowsers(home); err != nil {
			return err
		}
	}
	var told []string
	var failed error
	for _, b := range browsers {
		other, err := b.unregister(home, filepath.Join(s.data, "native-messaging"), self, script)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.title, err))
		case other != "":
			fmt.Fprintf(stdout, "%s starts another program, %s; that is left alone.\n", b.title, other)
		default:
			told = append(told, b.title)
		}
	}
	if len(told) > 0 {
		fmt.Fprintf(stdout, "%s will not start this program any more.\n", list(told))
	}
	if s.browser != "" { // the others still use the files
		return failed
	}
	had := len(told) > 0
	if n, err := bridge.Unpair(s.data); err != nil {
		failed = errors.Join(failed, err)
	} else if n > 0 {
		had = true
		fmt.Fprintf(stdout, "%s.\n", count(n, "browser was unpaired", "browsers were unpaired"))
	}
	for _, path := range []string{script, filepath.Join(s.data, "native-messaging", wire.HostName+".json"), filepath.Join(s.data, "native-messaging")} {
		had = had || exists(path)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	// A data folder may be one of the user's own, with a folder of this name.
	if folder := s.extensionFolder(); holdsExtension(folder) {
		had = true
		failed = errors.Join(failed, os.RemoveAll(folder))
	} else if exists(folder) {
		return errors.Join(failed, hinted("Remove it yourself, if it is to go.", "%s does not hold this extension, and is left alone", folder))
	}
	if !had {
		fmt.Fprintf(stdout, "No extension was installed for %s.\n", s.data)
		return failed
	}
	// Who is connected would stay so, for as long as the browser runs.
	if n, err := bridge.Stop(s.data); err != nil {
		failed = errors.Join(failed, err)
	} else if n > 0 {
		fmt.Fprintf(stdout, "%s to let go of every browser, within a second.\n", count(n, "server was told", "servers were told"))
	}
	fmt.Fprintln(stdout, "The extension's files are removed. Open chrome://extensions and press Remove on chrome-mcp, if it is still there.")
	return failed
}

// holdsExtension reports whether a folder holds the extension, in any version.
func holdsExtension(folder string) bool {
	key := func(fsys fs.FS) string {
		var manifest struct {
			Key string `json:"key"`
		}
		data, err := fs.ReadFile(fsys, "manifest.json")
		if err != nil || json.Unmarshal(data, &manifest) != nil {
			return ""
		}
		return manifest.Key
	}
	found := key(os.DirFS(folder))
	return found != "" && found == key(extension.Files())
}

// unregister has a browser forget the native messaging host, and returns its
// program instead when that is another one than this program or its script.
// Its error is fs.ErrNotExist when the browser knows of none.
func (b hostBrowser) unregister(home, manifests string, programs ...string) (other string, err error) {
	folder := b.folder(runtime.GOOS, home, os.Getenv("XDG_CONFIG_HOME"))
	if folder == "" { // it is in the registry, and all browsers share one file
		key := `HKCU\Software\` + b.registry + `\NativeMessagingHosts\` + wire.HostName
		if exec.Command("reg", "query", key).Run() != nil {
			return "", fs.ErrNotExist
		}
		return "", exec.Command("reg", "delete", key, "/f").Run()
	}
	path := filepath.Join(folder, "NativeMessagingHosts", wire.HostName+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var m hostManifest
	if json.Unmarshal(data, &m) == nil && exists(m.Path) {
		ours := false
		for _, program := range programs {
			ours = ours || sameFile(m.Path, program)
		}
		if !ours {
			return m.Path, nil
		}
	}
	return "", os.Remove(path)
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
