package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
)

// readAuditLog returns the entries of an audit log that was not rotated.
func readAuditLog(t *testing.T, path string) (list []audit.Entry) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e audit.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		list = append(list, e)
	}
	return list
}

// TestAuditOfTokens checks that the entries of two tokens with one audit log name the token and the
// session, also if their clients have the same name, and that the log of a server is opened once.
func TestAuditOfTokens(t *testing.T) {
	c := newCommandLine(t)
	record := filepath.Join(t.TempDir(), "audit.log")
	settings := fmt.Sprintf(`{"audit-log": [%q]}`, record)
	path, tokens := writeTokens(t, map[string]string{"a": settings, "b": settings})
	url := c.serve("--token-file", path)
	for _, name := range []string{"a", "b"} {
		send := func(want, method, path string, more ...string) {
			t.Helper()
			args := append(more, "-A", "agent-of-a/1", "-H", "Authorization: Bearer "+tokens[name], "-X", method, url+path)
			if status, body := curl(t, args...); status != want {
				t.Errorf("%s %s: %s %s", method, path, status, body)
			}
		}
		send("204", "PUT", "/v1/sessions/shop")
		send("200", "POST", "/v1/sessions/shop/tools/chrome_status", "--json", "{}")
		send("204", "DELETE", "/v1/sessions/shop")
	}
	if out, err := c.run("serve", "stop"); err != nil {
		t.Fatalf("serve stop: %v\n%s", err, out)
	}
	count := map[string]int{}
	for _, e := range readAuditLog(t, record) {
		count[fmt.Sprintf("%s %s@%s %s", e.Event, e.Name, e.Principal, e.Client)]++
	}
	for _, want := range []string{
		"start @ ", "end @ ",
		"opened shop@a ", "session shop@a agent-of-a/1", "call shop@a agent-of-a/1", "closed shop@a ",
		"opened shop@b ", "session shop@b agent-of-a/1", "call shop@b agent-of-a/1", "closed shop@b ",
	} {
		if count[want] != 1 {
			t.Errorf("%d entries %q, want 1", count[want], want)
		}
		delete(count, want)
	}
	if len(count) > 0 {
		t.Errorf("other entries: %v", count)
	}
}
