package main

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
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A hostBrowser is a browser that can be told of the native messaging host.
type hostBrowser struct {
	name     string // what --browser and package chromium call it
	title    string // what people call it
	linux    string // its folder in ~/.config
	mac      string // its folder in ~/Library/Application Support
	registry string // its key in HKCU\Software
}

var hostBrowsers = []hostBrowser{
	{"chrome", "Chrome", "google-chrome", "Google/Chrome", `Google\Chrome`},
	{"chromium", "Chromium", "chromium", "Chromium", `Chromium`},
	{"brave", "Brave", "BraveSoftware/Brave-Browser", "BraveSoftware/Brave-Browser", `BraveSoftware\Brave-Browser`},
	{"edge", "Edge", "microsoft-edge", "Microsoft Edge", `Microsoft\Edge`},
}

// folder returns where the browser keeps what belongs to a user, on goos with
// a home folder and XDG_CONFIG_HOME; empty where that is the registry.
func (b hostBrowser) folder(goos, home, config string) string {
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

// A hostManifest tells a browser how to start the native messaging host.
type hostManifest struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Path        string   `json:"path"`
	Type        string   `json:"type"`
	Origins     []string `json:"allowed_origins"`
}

// writeManifest writes the manifest into folder, for the program at path.
func writeManifest(folder, path string) (string, error) {
	data, err := json.MarshalIndent(hostManifest{
		Name:        wire.HostName,
		Description: "Tells the extension of chrome-mcp which servers run",
		Path:        path,
		Type:        "stdio",
		Origins:     []string{"chrome-extension://" + extension.ID() + "/"},
	}, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(folder, wire.HostName+".json"), replaceFile(filepath.Join(folder, wire.HostName+".json"), append(data, '\n'), 0o644)
}

// replaceFile writes a file whole, and not through a link.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// register tells one browser of the host. manifests is where its manifest goes
// when the browser looks into the registry.
func (b hostBrowser) register(home, manifests, program string) error {
	folder := b.folder(runtime.GOOS, home, os.Getenv("XDG_CONFIG_HOME"))
	if folder != "" {
		_, err := writeManifest(filepath.Join(folder, "NativeMessagingHosts"), program)
		return err
	}
	path, err := writeManifest(manifests, program)
	if err != nil {
		return err
	}
	key := `HKCU\Software\` + b.registry + `\NativeMessagingHosts\` + wire.HostName
	if out, err := exec.Command("reg", "add", key, "/ve", "/t", "REG_SZ", "/d", path, "/f").CombinedOutput(); err != nil {
		return fmt.Errorf("reg add: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// hostProgram returns the program that browsers are to start. They give it no
// arguments of ours, so for a data folder of the user's own it is a script.
func hostProgram(self, data string, ownData bool) (string, error) {
	if !ownData {
		return self, nil
	}
	path, text := filepath.Join(data, "native-host"), "#!/bin/sh\nexec "+shellQuote(self)+" --data "+shellQuote(data)+" native-host \"$@\"\n"
	if runtime.GOOS == "windows" {
		if strings.ContainsAny(self+data, `%"`) {
			return "", fmt.Errorf("the path %s has a %% or a quote, which a script cannot hold", data)
		}
		path += ".bat"
		text = "@\"" + self + "\" --data \"" + data + "\" native-host %*\r\n"
	}
	return path, replaceFile(path, []byte(text), 0o700)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
