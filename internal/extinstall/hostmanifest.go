package extinstall

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A Browser is a browser that the native messaging host can be registered in.
type Browser struct {
	name     string // name for --browser and package chromium
	Title    string // display name
	linux    string // directory in ~/.config
	mac      string // directory in ~/Library/Application Support
	registry string // key in HKCU\Software
}

// Browsers are the browsers in which the native messaging host can be registered.
var Browsers = []Browser{
	{"chrome", "Chrome", "google-chrome", "Google/Chrome", `Google\Chrome`},
	{"chromium", "Chromium", "chromium", "Chromium", `Chromium`},
	{"brave", "Brave", "BraveSoftware/Brave-Browser", "BraveSoftware/Brave-Browser", `BraveSoftware\Brave-Browser`},
	{"edge", "Edge", "microsoft-edge", "Microsoft Edge", `Microsoft\Edge`},
}

// manifestDir returns the directory of the browser's user data on goos, given the home directory
// and XDG_CONFIG_HOME. It returns "" on Windows, which uses the registry.
func (b Browser) manifestDir(goos, home, config string) string {
	switch goos {
	case "windows":
		return ""
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", filepath.FromSlash(b.mac))
	}
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, filepath.FromSlash(b.linux))
}

// manifestFile returns the path of the browser's native messaging host manifest, or "" on Windows.
func (b Browser) manifestFile(home string) string {
	dir := b.manifestDir(runtime.GOOS, home, os.Getenv("XDG_CONFIG_HOME"))
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "NativeMessagingHosts", wire.HostName+".json")
}

// A manifest is a native messaging host manifest.
type manifest struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Path        string   `json:"path"`
	Type        string   `json:"type"`
	Origins     []string `json:"allowed_origins"`
}

// writeManifest writes the manifest for a program to a file.
func writeManifest(file, program string) error {
	var origins []string
	for _, id := range extension.IDs() {
		origins = append(origins, "chrome-extension://"+id+"/")
	}
	data, err := json.MarshalIndent(manifest{
		Name:        wire.HostName,
		Description: "Lists running chrome-mcp servers for the extension",
		Path:        program,
		Type:        "stdio",
		Origins:     origins,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return replaceFile(file, append(data, '\n'), 0o644)
}

// replaceFile writes a file atomically, and replaces a symbolic link instead of following it.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails if the rename succeeded
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Register registers the native messaging host in one browser. On Windows, the manifest is written
// to directory manifests.
func (b Browser) Register(home, manifests, program string) error {
	if file := b.manifestFile(home); file != "" {
		return writeManifest(file, program)
	}
	path := filepath.Join(manifests, wire.HostName+".json")
	if err := writeManifest(path, program); err != nil {
		return err
	}
	key := `HKCU\Software\` + b.registry + `\NativeMessagingHosts\` + wire.HostName
	if out, err := exec.Command("reg", "add", key, "/ve", "/t", "REG_SZ", "/d", path, "/f").CombinedOutput(); err != nil {
		return fmt.Errorf("reg add: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// hostProgram returns the path of the program to register. Browsers pass none of our flags, so if
// ownData is set it writes a script that passes --data and returns the path of that script.
func hostProgram(self, data string, ownData bool) (string, error) {
	if !ownData {
		return self, nil
	}
	path, text := filepath.Join(data, "native-host"), "#!/bin/sh\nexec "+cli.ShellQuote(self)+" --data "+cli.ShellQuote(data)+" native-host \"$@\"\n"
	if runtime.GOOS == "windows" {
		if strings.ContainsAny(self+data, `%"`) {
			return "", fmt.Errorf("path %s contains a %% or a quote, which a batch file cannot represent", data)
		}
		path += ".bat"
		text = "@\"" + self + "\" --data \"" + data + "\" native-host %*\r\n"
	}
	return path, replaceFile(path, []byte(text), 0o700)
}

// Registered returns the program that the browser starts as the native messaging host, which may be
// "" or no longer exist. found is false if none is registered, and on Windows.
func (b Browser) Registered(home string) (program string, found bool) {
	data, err := os.ReadFile(b.manifestFile(home))
	if err != nil {
		return "", false
	}
	var m manifest
	if json.Unmarshal(data, &m) != nil {
		return "", true
	}
	return m.Path, true
}
