package hostconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// TestBadFiles checks the position in the error for invalid configurations.
func TestBadFiles(t *testing.T) {
	for _, tt := range []struct{ host, text, want string }{
		{"cursor", "{\n  \"a\": 1\n  \"b\": 2\n}", `:3:3: invalid character '"' after object value (expecting ',' or '}')`},
		{"cursor", "{\n  \"a\": ", ":2:8: parsing value: unexpected EOF"},
		{"cursor", "[]", ":1:1: the file is not a JSON object"},
		{"zed", "{\n  \"context_servers\": []\n}", ":2:22: context_servers is not a JSON object"},
		{"cursor", `{"mcpServers": {}, "mcpServers": {}}`, ":1:20: mcpServers occurs twice"},
		{"cursor", `{"mcpServers": {"chrome": {}, "\u0063hrome": {}}}`, ":1:31: chrome occurs twice"},
		{"cursor", `{"mcpServers": {"chrome": {"command": "a", "command": "b"}}}`, " cannot be edited: the entry chrome is in an unexpected form"},
		{"claude-desktop", "{\n  // mine\n}", ":2:3: Claude Desktop cannot read this: invalid character '/'"},
		{"claude-code", "{\"a\": 1,\n}", ":2:1: Claude Code cannot read this: invalid character '}'"},
		{"codex", "a = 1\nb = = 2\n", ":2:5: "},
		{"codex", "a = 1\na = 2\n", ":2:1: "},
		{"codex", "mcp_servers = 1\n", " cannot be edited: mcp_servers does not contain names and settings"},
		{"codex", "mcp_servers = { x = { command = \"x\" } }\n", " cannot be edited: "},
		{"codex", "mcp_servers.chrome.command = \"x\"\n", " cannot be edited: mcp_servers.chrome is not a table with a header"},
		{"codex", "[[mcp_servers]]\n", " cannot be edited: "},
		{"codex", "[mcp_servers.chrome]\ncommand.x = 1\n", " cannot be edited: "},
	} {
		h := hostNamed(t, tt.host)
		at := place(t, h, []byte(tt.text))
		_, err := h.Change(at, &testEntry)
		if err == nil || !strings.HasPrefix(err.Error(), at.File()+tt.want) {
			t.Errorf("%s: %q: %v; want %s", tt.host, tt.text, err, tt.want)
		}
		if got, err := os.ReadFile(at.File()); err != nil || string(got) != tt.text {
			t.Errorf("%s: %q is now %q, %v", tt.host, tt.text, got, err)
		}
	}
}

// TestCheck checks that a change of another setting is rejected.
func TestCheck(t *testing.T) {
	h := hostNamed(t, "cursor")
	before, err := h.parse([]byte(`{"a": 1, "mcpServers": {"x": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	entry := layout{}.entry(testEntry, false, "")
	for text, ok := range map[string]bool{
		`{"a": 1, "mcpServers": {"chrome": ` + entry + `, "x": {}}}`: true,
		`{"a": 2, "mcpServers": {"chrome": ` + entry + `, "x": {}}}`: false,
		`{"a": 1, "mcpServers": {"chrome": ` + entry + `}}`:          false,
		`{"a": 1, "mcpServers": {"chrome": ` + entry + `, "x": {}}`:  false,
		`{"a": 1, "mcpServers": {"chrome": {"args": []}, "x": {}}}`:  false,
		`{"a": 1, "mcpServers": {"x": {}}, "chrome": ` + entry + `}`: false,
	} {
		if err := h.check(before, []byte(text), &testEntry); (err == nil) != ok || err != nil && !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v, want ok %v", text, err, ok)
		}
	}
}

// TestFragment parses the fragments in their formats.
func TestFragment(t *testing.T) {
	odd := Entry{Command: `C:\Program Files\"x"\chrome-mcp.exe`, Args: []string{"", "a b", "é\n\t", "--x=<&>"}}
	for _, h := range Hosts() {
		text, err := h.Fragment(odd)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]map[string]struct {
			Type    string   `json:"type"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}
		if h.Format == TOML {
			err = toml.Unmarshal(text, &got)
		} else {
			err = json.Unmarshal(text, &got)
		}
		if e := got[h.Key]["chrome"]; err != nil || e.Command != odd.Command || !slices.Equal(e.Args, odd.Args) || (e.Type == "stdio") != h.typed {
			t.Errorf("%s: %+v, %v\n%s", h.Name, got, err, text)
		}
	}
}

// TestWindowsText changes files with carriage returns and a byte order mark.
func TestWindowsText(t *testing.T) {
	for host, text := range map[string]string{
		"vscode": "\ufeff{\r\n  \"servers\": {\r\n    \"x\": {}\r\n  }\r\n}\r\n",
		"codex":  "a = 1\r\n\r\n[b]\r\nc = 2\r\n",
	} {
		h := hostNamed(t, host)
		at := place(t, h, []byte(text))
		c, err := h.Change(at, &testEntry)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(c.After, []byte("\n")); n != bytes.Count(c.After, []byte("\r\n")) || n == strings.Count(text, "\n") {
			t.Errorf("%s: %q", host, c.After)
		}
		if strings.Contains(c.Diff(), "\r") || strings.Contains(c.Diff(), "<U+000D>") {
			t.Errorf("%s: the diff has carriage returns: %q", host, c.Diff())
		}
		if _, err := c.Write(); err != nil {
			t.Fatal(err)
		}
		if c, err = h.Change(at, nil); err != nil || string(c.After) != text {
			t.Errorf("%s: removed: %q, %v", host, c.After, err)
		}
	}
}

// TestWrite checks modes, backups and the directories that Write creates.
func TestWrite(t *testing.T) {
	h := hostNamed(t, "cursor")
	at := place(t, h, []byte("{}\n"))
	dir := filepath.Dir(at.File())
	if err := os.Chmod(at.File(), 0o640); err != nil {
		t.Fatal(err)
	}
	c, err := h.Change(at, &testEntry)
	if err != nil {
		t.Fatal(err)
	}
	backup, err := c.Write()
	if err != nil || filepath.Dir(backup) != dir {
		t.Fatalf("backup %q, %v", backup, err)
	}
	for file, want := range map[string]string{backup: "{}\n", at.File(): string(c.After)} {
		got, err := os.ReadFile(file)
		info, _ := os.Stat(file)
		if err != nil || string(got) != want || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q, mode %v, %v", file, got, info.Mode(), err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("files: %v", files)
	}

	at, err = h.Project(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if c, err = h.Change(at, &testEntry); err != nil {
		t.Fatal(err)
	}
	if backup, err := c.Write(); backup != "" || err != nil {
		t.Errorf("a new file has the backup %q, %v", backup, err)
	}
	if info, err := os.Stat(at.File()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("a new file of a project: %v, %v", info, err)
	}
	if _, err := hostNamed(t, "windsurf").Project(t.TempDir()); !errors.Is(err, ErrNoProject) {
		t.Errorf("a host without projects: %v", err)
	}
}

// TestConcurrentChange changes the file between the diff and the write.
func TestConcurrentChange(t *testing.T) {
	h := hostNamed(t, "cursor")
	for name, tt := range map[string]struct {
		before []byte
		change func(file string) error
	}{
		"changed":  {[]byte("{}"), func(file string) error { return os.WriteFile(file, []byte(`{"a":1}`), 0o600) }},
		"removed":  {[]byte("{}"), os.Remove},
		"mode":     {[]byte("{}"), func(file string) error { return os.Chmod(file, 0o400) }},
		"replaced": {[]byte("{}"), func(file string) error { return errors.Join(os.Remove(file), os.Symlink("elsewhere", file)) }},
		"created": {nil, func(file string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{}"), 0o600))
		}},
	} {
		at := place(t, h, tt.before)
		c, err := h.Change(at, &testEntry)
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.change(at.File()); err != nil {
			t.Fatal(err)
		}
		want, _ := os.ReadFile(at.File())
		if _, err := c.Write(); !errors.Is(err, ErrChanged) && !errors.Is(err, ErrSymlink) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(at.File()); !bytes.Equal(got, want) {
			t.Errorf("%s: the file is %q, want %q", name, got, want)
		}
		files, _ := filepath.Glob(filepath.Dir(at.File()) + "/*")
		hidden, _ := filepath.Glob(filepath.Dir(at.File()) + "/.new-*")
		if len(files) > 1 || len(hidden) > 0 {
			t.Errorf("%s: files %v %v", name, files, hidden)
		}
	}
}

// TestSymlinks checks that neither the file nor a directory on its path may be a symbolic link.
func TestSymlinks(t *testing.T) {
	h := hostNamed(t, "cursor")
	for _, link := range []string{".cursor", ".cursor/mcp.json"} {
		at, err := h.Project(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(at.Base, "target")
		if link == ".cursor" {
			err = os.Mkdir(target, 0o700)
		} else {
			err = errors.Join(os.Mkdir(filepath.Join(at.Base, ".cursor"), 0o700), os.WriteFile(target, []byte("{}"), 0o600))
		}
		if err := errors.Join(err, os.Symlink(target, filepath.Join(at.Base, filepath.FromSlash(link)))); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Change(at, &testEntry); !errors.Is(err, ErrSymlink) || !strings.Contains(err.Error(), target) {
			t.Errorf("%s: %v", link, err)
		}
		if _, err := os.Stat(filepath.Join(target, "mcp.json")); err == nil {
			t.Errorf("%s: a file was written through the link", link)
		}
	}
	for _, name := range []string{".cursor", ".cursor/mcp.json"} {
		at, err := h.Project(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if name == ".cursor" {
			err = os.WriteFile(filepath.Join(at.Base, name), nil, 0o600)
		} else {
			err = os.MkdirAll(at.File(), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Change(at, &testEntry); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of another kind: %v", name, err)
		}
	}
}

// TestLocations checks the paths that variables and operating systems change.
func TestLocations(t *testing.T) {
	dir := t.TempDir()
	variables := map[string]string{"XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "relative", "APPDATA": dir}
	for _, tt := range []struct{ os, host, want string }{
		{"linux", "claude-code", "/home/.claude.json"},
		{"linux", "claude-desktop", "/x/Claude/claude_desktop_config.json"},
		{"darwin", "claude-desktop", "/home/Library/Application Support/Claude/claude_desktop_config.json"},
		{"windows", "claude-desktop", dir + "/Claude/claude_desktop_config.json"},
		{"linux", "vscode", "/x/Code/User/mcp.json"},
		{"linux", "codex", "/c/config.toml"},
		{"linux", "zed", "/x/zed/settings.json"},
		{"darwin", "zed", "/home/.config/zed/settings.json"},
		{"windows", "zed", dir + "/Zed/settings.json"},
		{"linux", "windsurf", "/home/.codeium/windsurf/mcp_config.json"},
	} {
		env := Environment{OS: tt.os, Home: "/home", Getenv: func(name string) string { return variables[name] }}
		if got := hostNamed(t, tt.host).User(env).File(); runtime.GOOS != "windows" && got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.host, tt.os, got, tt.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	const text = "a\x1b[2J\u202eb\r\nc\td\r"
	if got, want := Printable(text), "a<U+001B>[2J<U+202E>b\nc\td<U+000D>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzAdd checks that a change is either rejected or changes only the entry.
func FuzzAdd(f *testing.F) {
	for _, text := range []string{
		"", "{}", `{"mcpServers":{"chrome":{"url":"x"}}}`, "{\n // a\n \"mcpServers\": {\n  \"x\": 1, // b\n }, /* c */\n}", "a = 1\n", "mcp_servers.x = {}",
		"[mcp_servers.chrome]\ncommand = 'x' # a\n[mcp_servers.chrome.env]\nA = \"\"\"\n\"\"\"\n[[b]]", "[mcp_servers]\nchrome.args = []",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"gemini", "codex"} {
			h := hostNamed(t, name)
			before, err := h.parse(data)
			if err != nil {
				continue
			}
			found, err := h.entry(before)
			if err != nil {
				continue
			}
			after, err := h.edit(data, &testEntry)
			if err != nil || h.check(before, after, &testEntry) != nil {
				continue // Add returns the error
			}
			if found != nil {
				continue
			}
			removed, err := h.edit(after, nil)
			if err == nil {
				err = h.check(before, removed, nil)
			}
			if err != nil {
				t.Errorf("%s: %q, with the entry %q, without it %q: %v", name, data, after, removed, err)
			}
		}
	})
}
