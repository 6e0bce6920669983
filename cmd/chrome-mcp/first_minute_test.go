package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestFirstMinute sets up a host in an empty home directory, starts the command line in the host's
// file as the host does, and, for one of the hosts, reads a page.
func TestFirstMinute(t *testing.T) {
	t.Parallel() // it mainly waits
	needChromium(t)
	if runtime.GOOS == "windows" {
		t.Skip("the hosts' files are in other directories")
	}
	for _, host := range []struct {
		name, file, key string
		text            string // of the file before setup; "" means that it does not exist
		parse           func(data []byte, v any) error
	}{
		{"cursor", ".cursor/mcp.json", "mcpServers", "", json.Unmarshal},
		{"zed", ".config/zed/settings.json", "context_servers", "// Zed settings\n{\n  \"vim_mode\": true, // by hand\n}\n", unmarshalJSONC},
		{"codex", ".codex/config.toml", "mcp_servers", "model = \"o9\" # by hand\n\n[tools]\nweb_search = true\n", toml.Unmarshal},
	} {
		t.Run(host.name, func(t *testing.T) {
			t.Parallel()
			site, home := newTestSite(t), t.TempDir()
			file := filepath.Join(home, filepath.FromSlash(host.file))
			if host.text != "" {
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(host.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "CODEX_HOME=", "DISPLAY=", "WAYLAND_DISPLAY=")
			setup := func(flags ...string) (said string, server *mcpServer) {
				t.Helper()
				cmd := exec.Command(binary, append([]string{"setup", host.name, "--yes"}, append(rootNeedsNoSandbox(), flags...)...)...)
				cmd.Dir, cmd.Env = home, append(env, "PATH=") // no host has its own command
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
				}
				entry := readHostServer(t, file, host.key, host.parse)
				start := exec.Command(entry.Command, entry.Args...)
				start.Dir, start.Env = home, env
				return string(out), startCommand(t, nil, nil, start)
			}

			// Without a site, the denial says which flag allows it, and so does setup.
			page := map[string]any{"url": site.URL + "/lamps"}
			said, s := setup()
			wants(t, "setup", said, []string{"No site is allowed yet: repeat the command with --allow-domain"})
			s.refused(t, "POLICY_DENIED", "navigate", page, "--allow-domain "+strings.TrimPrefix(site.URL, "http://"))
			s.end(t)

			said, s = setup("--allow-domain", site.URL)
			wants(t, "setup", said, []string{file + " has the entry chrome", "Open " + site.URL + " and list its links"})
			if host.name == "cursor" || tier.DeepEnabled() {
				s.call(t, "navigate", page, "lamps")
				s.call(t, "get_text", nil, "Lamps of walnut and brass")
				s.call(t, "extract_links", nil, site.URL+"/second")
			} else {
				s.call(t, "chrome_status", nil, "allowed domains: "+site.URL)
			}
			if data, err := os.ReadFile(file); err != nil || host.text != "" && !bytes.Contains(data, []byte("by hand")) {
				t.Errorf("%v, the file is\n%s", err, data)
			}
		})
	}
}

// unmarshalJSONC is json.Unmarshal for JSON with comments.
func unmarshalJSONC(data []byte, v any) error {
	standard, err := hujson.Standardize(data)
	if err != nil {
		return err
	}
	return json.Unmarshal(standard, v)
}

// readHostServer returns the server chrome in the file of an MCP host.
func readHostServer(t *testing.T, file, key string, parse func([]byte, any) error) (server hostServer) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := parse(data, &config); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	servers, _ := config[key].(map[string]any)
	text, err := json.Marshal(servers["chrome"])
	if err == nil {
		err = json.Unmarshal(text, &server)
	}
	if err != nil || server.Command == "" {
		t.Fatalf("no server under %s: %v\n%s", key, err, data)
	}
	return server
}
