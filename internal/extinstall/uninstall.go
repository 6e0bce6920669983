package extinstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// uninstall undoes install: it unregisters the native messaging host, unpairs all
// browsers, disconnects the servers and removes the files. It does not change what other
// installations of the program registered.
func uninstall(_ context.Context, s *cli.Settings, stdout io.Writer) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return cli.Usagef("Set the variable HOME.", "%v", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("path of this program: %w", err)
	}
	script := filepath.Join(s.Data, "native-host")
	if runtime.GOOS == "windows" {
		script += ".bat"
	}
	browsers := Browsers
	if s.Browser != "" {
		if browsers, err = browsersOf(s, home); err != nil {
			return err
		}
	}
	var unregistered []string
	var failed error
	for _, b := range browsers {
		other, err := b.unregister(home, self, script)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.Title, err))
		case other != "":
			fmt.Fprintf(stdout, "%s is registered for another program, %s; not changed.\n", b.Title, other)
		default:
			unregistered = append(unregistered, b.Title)
		}
	}
	if len(unregistered) > 0 {
		fmt.Fprintf(stdout, "Unregistered from %s.\n", phrase.List(unregistered, "and"))
	}
	if s.Browser != "" { // the other browsers still use the files
		return failed
	}
	had := len(unregistered) > 0
	if n, err := bridge.Unpair(s.Data); err != nil {
		failed = errors.Join(failed, err)
	} else if n > 0 {
		had = true
		fmt.Fprintf(stdout, "%s.\n", phrase.Count(n, "browser was unpaired", "browsers were unpaired"))
	}
	for _, path := range []string{script, filepath.Join(s.Data, "native-messaging", wire.HostName+".json"), filepath.Join(s.Data, "native-messaging")} {
		had = had || cli.Exists(path)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	// The data directory may be one that the user uses otherwise and that has an unrelated
	// subdirectory of this name.
	if dir := Dir(s.Data); containsExtension(dir) {
		had = true
		failed = errors.Join(failed, os.RemoveAll(dir))
	} else if cli.Exists(dir) {
		return errors.Join(failed, cli.ErrorWithHint("Remove it manually.", "%s does not contain this extension; not changed", dir))
	}
	if !had {
		fmt.Fprintf(stdout, "No extension was installed for %s.\n", s.Data)
		return failed
	}
	// A connection would otherwise stay open until the browser exits.
	if n, err := bridge.Stop(s.Data); err != nil {
		failed = errors.Join(failed, err)
	} else if n > 0 {
		fmt.Fprintf(stdout, "Disconnected %s from all browsers.\n", phrase.Count(n, "server", "servers"))
	}
	fmt.Fprintln(stdout, "The extension's files are removed. If chrome-mcp is still listed in chrome://extensions, click Remove there.")
	return failed
}

// containsExtension reports whether dir contains the extension, in any version.
func containsExtension(dir string) bool {
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
	found := key(os.DirFS(dir))
	return found != "" && found == key(extension.Files())
}

// unregister removes the native messaging host from a browser. If the browser has another program
// registered, unregister changes nothing and returns the path of that program. It returns
// fs.ErrNotExist if no host is registered.
func (b Browser) unregister(home string, programs ...string) (other string, err error) {
	path := b.manifestFile(home)
	if path == "" { // Windows: the host is in the registry, and all browsers share one file
		key := `HKCU\Software\` + b.registry + `\NativeMessagingHosts\` + wire.HostName
		if exec.Command("reg", "query", key).Run() != nil {
			return "", fs.ErrNotExist
		}
		return "", exec.Command("reg", "delete", key, "/f").Run()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var m manifest
	ours := func(program string) bool { return cli.SameFile(m.Path, program) }
	if json.Unmarshal(data, &m) == nil && cli.Exists(m.Path) && !slices.ContainsFunc(programs, ours) {
		return m.Path, nil
	}
	return "", os.Remove(path)
}
