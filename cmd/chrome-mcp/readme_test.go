package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var hostBlock = regexp.MustCompile("(?s)<!-- host: (\\w+) -->\n```(json|toml)\n(.*?)```")

// TestReadmeHosts parses each configuration in the README, under the key that its MCP host reads,
// and checks that our flags and policy accept its arguments.
func TestReadmeHosts(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := hostBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("the README has configurations for %d hosts, want 3", len(blocks))
	}
	type server struct {
		Type    string
		Command string
		Args    []string
	}
	for i, block := range blocks {
		key, format, config := block[1], block[2], block[3]
		parsed := map[string]map[string]server{}
		if format == "toml" {
			config, err = tomlToJSON(config)
			if err != nil {
				t.Fatal(err)
			}
		}
		d := json.NewDecoder(strings.NewReader(config))
		d.DisallowUnknownFields()
		if err := d.Decode(&parsed); err != nil {
			t.Fatalf("host %d: %v\n%s", i+1, err, config)
		}
		s, ok := parsed[key]["chrome"]
		if !ok || s.Command == "" || (s.Type != "" && s.Type != "stdio") {
			t.Errorf("host %d: no server under %s: %s", i+1, key, config)
		}
		settings, command, err := parseCommand(s.Args, nil)
		if err != nil {
			t.Errorf("host %d: %v", i+1, err)
			continue
		}
		rules, err := settings.policy()
		if err != nil || len(command) > 0 || len(rules.Status().AllowDomains) == 0 {
			t.Errorf("host %d: command %q, policy %v, %v", i+1, command, rules, err)
		}
		if i == 0 && !(slices.Contains(s.Args, "--allow-domain") && slices.Contains(s.Args, "--enable-mutations")) {
			t.Errorf("the first host lacks --allow-domain or --enable-mutations: %q", s.Args)
		}
	}
}

// tomlToJSON converts the subset of TOML that the README uses: one table, whose values have the
// same syntax in both formats.
func tomlToJSON(text string) (string, error) {
	table := map[string]json.RawMessage{}
	var path []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok && path == nil {
			path = strings.Split(strings.TrimSuffix(name, "]"), ".")
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		if !ok || !json.Valid([]byte(value)) || len(path) != 2 {
			return "", fmt.Errorf("unexpected TOML: %q", line)
		}
		table[key] = json.RawMessage(value)
	}
	out, err := json.Marshal(map[string]any{path[0]: map[string]any{path[1]: table}})
	return string(out), err
}

// TestReadmeNamesRealFlags checks every --flag in the README.
func TestReadmeNamesRealFlags(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root, _ := newRoot(nil, nil)
	for _, found := range regexp.MustCompile("[ `\"(]--([a-z][a-z-]*[a-z])").FindAllStringSubmatch(string(text), -1) {
		if root.Flag(found[1]) == nil {
			t.Errorf("the README names the unknown flag --%s", found[1])
		}
	}
}
