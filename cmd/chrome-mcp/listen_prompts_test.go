package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// writeTokens writes a token file with one token for each entry, which has its settings by name. It
// returns the path of the file and the tokens.
func writeTokens(t *testing.T, settings map[string]string) (path string, tokens map[string]string) {
	t.Helper()
	var entries []string
	tokens = map[string]string{}
	for name, set := range settings {
		tokens[name] = strings.Repeat(name+"-", 32)
		entries = append(entries, fmt.Sprintf(`{"name": %q, "token": %q, "settings": %s}`, name, tokens[name], set))
	}
	path = filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(path, []byte(`{"tokens": [`+strings.Join(entries, ",\n")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, tokens
}

// TestTokenPrompts checks that a client with a token is prompted for missing permissions only if the
// settings of its token say so, and that its answers are recorded as those of the client.
func TestTokenPrompts(t *testing.T) {
	c := newCommandLine(t)
	record := filepath.Join(t.TempDir(), "audit.log")
	path, tokens := writeTokens(t, map[string]string{
		"reader":  fmt.Sprintf(`{"allow-domain": ["localhost"], "audit-log": [%q]}`, record),
		"trusted": fmt.Sprintf(`{"allow-domain": ["localhost"], "ask": ["auto"], "audit-log": [%q]}`, record),
	})
	url, log := c.serveOn("127.0.0.1:0", "--token-file", path)
	for name, prompts := range map[string]int{"reader": 0, "trusted": 1} {
		client := &person{}
		client.setAnswers(says("no"))
		transport := &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: sessionHeader{tokens[name], "default"}}}
		cs, err := sdk.NewClient(&sdk.Implementation{Name: name}, &sdk.ClientOptions{ElicitationHandler: client.answer}).Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatal(err)
		}
		(&mcpServer{client: cs}).refused(t, "POLICY_DENIED", "navigate", map[string]any{"url": "https://example.com/"})
		if got := len(client.asked()); got != prompts {
			t.Errorf("%s was prompted %d times, want %d", name, got, prompts)
		}
		cs.Close()
	}
	if text := log.String(); strings.Count(text, "clients are not prompted for missing permissions") != 1 || !strings.Contains(text, "tokens=[reader]") {
		t.Errorf("the log does not name the token that is not prompted:\n%s", text)
	}
	data, err := os.ReadFile(record)
	if err != nil || !strings.Contains(string(data), `"decision":"denied","rule":"client"`) {
		t.Errorf("the answer is not in the audit log: %v\n%s", err, data)
	}
}
