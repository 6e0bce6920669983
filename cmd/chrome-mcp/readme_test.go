package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/internal/compose"
)

var hostBlock = regexp.MustCompile("(?s)<!-- host: (\\w+) -->\n```(json|toml)\n(.*?)```")

// TestReadmeHosts parses each configuration in the documents, under the key that its MCP host reads,
// and checks that our flags and policy accept its arguments.
func TestReadmeHosts(t *testing.T) {
	var blocks [][]string
	for _, file := range []string{"../../README.md", "../../docs/setup.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, hostBlock.FindAllStringSubmatch(string(text), -1)...)
	}
	if len(blocks) != 3 {
		t.Fatalf("the documents have configurations for %d hosts, want 3", len(blocks))
	}
	for i, block := range blocks {
		servers := parseHost(t, block[1], block[3])
		s, ok := servers["chrome"]
		if !ok || s.Command == "" || (s.Type != "" && s.Type != "stdio") {
			t.Errorf("host %d: no server under %s: %s", i+1, block[1], block[3])
		}
		settings, err := cli.Parse(s.Args, nil)
		if err != nil {
			t.Errorf("host %d: %v", i+1, err)
			continue
		}
		rules, err := compose.Policy(settings)
		if err != nil || len(rules.Status().AllowDomains) == 0 {
			t.Errorf("host %d: policy %v, %v", i+1, rules, err)
		}
		if i == 0 && !(slices.Contains(s.Args, "--allow-domain") && slices.Contains(s.Args, "--enable-mutations")) {
			t.Errorf("the first host lacks --allow-domain or --enable-mutations: %q", s.Args)
		}
	}
}

// A hostServer is a server in the configuration of an MCP host.
type hostServer struct {
	Type    string   `json:"type" toml:"type"`
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
}

// parseHost returns the servers in a configuration in JSON or TOML, which has only the key.
func parseHost(t *testing.T, key, config string) map[string]hostServer {
	t.Helper()
	parsed := map[string]map[string]hostServer{}
	var err error
	if strings.HasPrefix(config, "[") {
		err = toml.NewDecoder(strings.NewReader(config)).DisallowUnknownFields().Decode(&parsed)
	} else {
		d := json.NewDecoder(strings.NewReader(config))
		d.DisallowUnknownFields()
		err = d.Decode(&parsed)
	}
	if err != nil || len(parsed) != 1 || len(parsed[key]) != 1 {
		t.Fatalf("%s: %v, %v\n%s", key, parsed, err, config)
	}
	return parsed[key]
}

// TestReadmeNamesRealFlags checks every --flag in the README.
func TestReadmeNamesRealFlags(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(nil, nil)
	for _, found := range regexp.MustCompile("[ `\"(]--([a-z][a-z-]*[a-z])").FindAllStringSubmatch(string(text), -1) {
		if root.Flag(found[1]) == nil {
			t.Errorf("the README names the unknown flag --%s", found[1])
		}
	}
}
