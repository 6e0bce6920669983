package hostconfig

import (
	"errors"
	"path/filepath"

	"github.com/tailscale/hujson"
)

// A Format is the syntax of a configuration file.
type Format int

// The formats. JSONC is JSON with comments and trailing commas.
const (
	JSON Format = iota
	JSONC
	TOML
)

// A Host is a program that starts MCP servers.
type Host struct {
	Name, Title string
	Format      Format
	Key         string // the setting that contains the entries
	Isolated    bool   // the host starts a server for each window, so that they cannot share a profile

	typed   bool   // entries name their transport
	project string // file in a project, or empty
	user    func(Environment) Location
	own     *ownCommand // nil if the host has none
}

// An ownCommand is how a host itself changes the configuration of the user.
type ownCommand struct {
	program string
	add     func(Entry) []string
	remove  []string // nil if the host has no such command
}

// An Environment decides where hosts have their files.
type Environment struct {
	OS     string // as runtime.GOOS
	Home   string
	Getenv func(string) string
}

// A Location is a file in a directory of the user or of a project. Path is relative to Base.
type Location struct {
	Base, Path string
	Project    bool
}

// File returns the path of the file.
func (l Location) File() string { return filepath.Join(l.Base, filepath.FromSlash(l.Path)) }

// home returns a location in the home directory.
func home(path string) func(Environment) Location {
	return func(env Environment) Location { return Location{Base: env.Home, Path: path} }
}

// below returns a location in the directory that a variable names, or else in the home directory.
func below(variable, path, otherwise string) func(Environment) Location {
	return func(env Environment) Location {
		if dir := env.Getenv(variable); filepath.IsAbs(dir) {
			return Location{Base: dir, Path: path}
		}
		return Location{Base: env.Home, Path: otherwise}
	}
}

// application returns a location in the directory in which applications have their settings.
func application(path string) func(Environment) Location {
	return func(env Environment) Location {
		switch env.OS {
		case "darwin":
			return Location{Base: env.Home, Path: "Library/Application Support/" + path}
		case "windows":
			return below("APPDATA", path, "AppData/Roaming/"+path)(env)
		}
		return below("XDG_CONFIG_HOME", path, ".config/"+path)(env)
	}
}

func zedSettings(env Environment) Location {
	switch env.OS {
	case "darwin":
		return Location{Base: env.Home, Path: ".config/zed/settings.json"}
	case "windows":
		return application("Zed/settings.json")(env)
	}
	return application("zed/settings.json")(env)
}

// Hosts returns the known hosts.
func Hosts() []*Host {
	return []*Host{
		{Name: "claude-code", Title: "Claude Code", Key: "mcpServers", typed: true,
			user: below("CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json"), project: ".mcp.json",
			own: &ownCommand{
				program: "claude",
				add: func(e Entry) []string {
					return append([]string{"mcp", "add", "--scope", "user", EntryName, "--", e.Command}, e.Args...)
				},
				remove: []string{"mcp", "remove", "--scope", "user", EntryName},
			}},
		{Name: "claude-desktop", Title: "Claude Desktop", Key: "mcpServers",
			user: application("Claude/claude_desktop_config.json")},
		{Name: "cursor", Title: "Cursor", Format: JSONC, Key: "mcpServers",
			user: home(".cursor/mcp.json"), project: ".cursor/mcp.json"},
		{Name: "vscode", Title: "VS Code", Format: JSONC, Key: "servers", typed: true, Isolated: true,
			user: application("Code/User/mcp.json"), project: ".vscode/mcp.json",
			own: &ownCommand{
				program: "code",
				add: func(e Entry) []string {
					name := "{" + layout{}.member("name", string(hujson.String(EntryName))) + ","
					return []string{"--add-mcp", name + layout{}.entry(e, true, "")[len("{"):]}
				},
			}},
		{Name: "codex", Title: "Codex", Format: TOML, Key: "mcp_servers",
			user: below("CODEX_HOME", "config.toml", ".codex/config.toml"), project: ".codex/config.toml",
			own: &ownCommand{
				program: "codex",
				add: func(e Entry) []string {
					return append([]string{"mcp", "add", EntryName, "--", e.Command}, e.Args...)
				},
				remove: []string{"mcp", "remove", EntryName},
			}},
		{Name: "gemini", Title: "Gemini CLI", Format: JSONC, Key: "mcpServers",
			user: below("GEMINI_CLI_HOME", ".gemini/settings.json", ".gemini/settings.json"), project: ".gemini/settings.json",
			own: &ownCommand{
				program: "gemini",
				add: func(e Entry) []string {
					return append([]string{"mcp", "add", "--scope", "user", EntryName, e.Command, "--"}, e.Args...)
				},
				remove: []string{"mcp", "remove", "--scope", "user", EntryName},
			}},
		{Name: "zed", Title: "Zed", Format: JSONC, Key: "context_servers",
			user: zedSettings, project: ".zed/settings.json"},
		{Name: "windsurf", Title: "Windsurf", Format: JSONC, Key: "mcpServers",
			user: home(".codeium/windsurf/mcp_config.json")},
	}
}

// ErrNoProject means that a host has no configuration in projects.
var ErrNoProject = errors.New("has no configuration in projects")

// User returns the location of the user's configuration.
func (h *Host) User(env Environment) Location { return h.user(env) }

// Project returns the location of the configuration of the project in a directory. It returns
// ErrNoProject if there is none.
func (h *Host) Project(dir string) (Location, error) {
	if h.project == "" {
		return Location{}, ErrNoProject
	}
	return Location{Base: dir, Path: h.project, Project: true}, nil
}

// Command returns the program of the host that adds an entry to the user's configuration or, if e is
// nil, removes it, and its arguments. The program is "" if there is none.
func (h *Host) Command(e *Entry) (program string, args []string) {
	switch {
	case h.own == nil, e == nil && h.own.remove == nil:
		return "", nil
	case e == nil:
		return h.own.program, h.own.remove
	}
	return h.own.program, h.own.add(*e)
}
