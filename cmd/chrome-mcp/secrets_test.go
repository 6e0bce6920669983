package main

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// The values of the secrets in the tests.
const (
	testPassword = "Kw7#qLz9&vX"
	testSeed     = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" // of RFC 6238
	testUsername = "zephyrine.quux"
)

// A secretsTest is a server whose user has secrets for the site, and what the agent received.
type secretsTest struct {
	*mcpServer
	t    *testing.T
	data string
	site *loginSite

	attacks map[string]bool // what TestSecretAttacks has tried
}

// newSecretsTest starts the program with flags.
func newSecretsTest(t *testing.T, flags ...string) *secretsTest {
	needChromium(t)
	s := &secretsTest{t: t, data: filepath.Join(t.TempDir(), "data"), site: newLoginSite(t)}
	s.set("shop.password", testPassword, "--origin", s.site.URL)
	s.set("shop.totp", testSeed)
	s.set("shop.username", testUsername, "--selector", "#user")
	s.mcpServer = startMCP(t, append([]string{"--data", s.data, "--prefer=cdp", "--headless", "--isolated", "--unsafe-enable-eval", "--subresources=public",
		"--enable-mutations", "--enable-storage", "--enable-downloads", "--tools=all", "--structured", "--log-level=debug", "--audit-log", s.auditLog(),
		"--allow-domain", "127.0.0.1", "--allow-domain", "localhost"}, flags...)...)
	t.Cleanup(func() { s.wantNothing("stderr", s.er.String()); s.wantNothing("stdout", s.out.String()) })
	return s
}

func (s *secretsTest) auditLog() string { return filepath.Join(filepath.Dir(s.data), "audit.jsonl") }

// set sets a secret, with the value on stdin.
func (s *secretsTest) set(name, value string, flags ...string) {
	s.t.Helper()
	if _, stderr, err := execute(s.t, s.data, []byte(value+"\n"), append([]string{"secrets", "set", name}, flags...)...); err != nil {
		s.t.Fatal(err, stderr)
	}
}

// wantNothing checks that a text has no value, nor a part of the password.
func (s *secretsTest) wantNothing(what, text string) {
	s.t.Helper()
	for i := 0; i+4 <= len(testPassword); i++ {
		if part := testPassword[i : i+4]; strings.Contains(text, part) {
			s.t.Errorf("%s contains %q", what, part)
		}
	}
	for _, value := range []string{testSeed, testUsername} {
		if strings.Contains(text, value) {
			s.t.Errorf("%s contains %q", what, value)
		}
	}
}

// open opens a page of the site in a new tab.
func (s *secretsTest) open(path string) (tab string) {
	s.t.Helper()
	return s.openURL(s.site.URL + path)
}

func (s *secretsTest) openURL(url string) (tab string) {
	s.t.Helper()
	res := s.result("tab_new", map[string]any{"url": url})
	if res.IsError {
		s.t.Fatalf("tab_new: %s", asJSON(res))
	}
	var opened struct{ TabID string }
	if json.Unmarshal([]byte(asJSON(res.StructuredContent)), &opened); opened.TabID == "" {
		s.t.Fatalf("tab_new: %s", asJSON(res))
	}
	return opened.TabID
}

// result calls a tool. Its result must have no secret.
func (s *secretsTest) result(tool string, args map[string]any) *sdk.CallToolResult {
	s.t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	res, err := s.client.CallTool(s.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		s.t.Fatal(err)
	}
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(res); err != nil {
		s.t.Fatal(err)
	}
	s.wantNothing(tool, raw.String())
	return res
}

// TestSecret runs one secret through all layers: the file, the field in a real browser, the site that
// receives it, and results, logs and audit log that do not have it.
func TestSecret(t *testing.T) {
	s := newSecretsTest(t)
	s.open("/login")
	s.site.page("/session", "<p>You sent: $BODY</p>")
	s.call(t, "secrets_list", nil, "{{shop.password}}", "{{shop.totp}}", s.site.URL)
	s.call(t, "type", map[string]any{"selector": "#user", "text": "{{shop.username}}"})
	s.call(t, "type", map[string]any{"selector": "#code", "text": "{{shop.totp}}"})
	s.call(t, "type", map[string]any{"selector": "#password", "text": "{{shop.password}}", "pressEnter": true})
	s.call(t, "wait_for", map[string]any{"text": "You sent"})
	if want := "user=" + testUsername + "&password=Kw7%23qLz9%26vX&code="; !s.site.got(want) {
		t.Errorf("the site received %q, want %s", s.site.received, want)
	}
	if text := s.call(t, "get_text", nil, "You sent", "••••"); strings.Contains(text, "Kw7") {
		t.Errorf("get_text: %s", text)
	}
	s.result("get_text", nil)
	log, err := os.ReadFile(s.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	s.wantNothing("the audit log", string(log))
}

// TestSecretAndCDPClient checks that a secret is not typed in a browser that a CDP client has used,
// and that no client can connect while a secret is in a page.
func TestSecretAndCDPClient(t *testing.T) {
	site := newLoginSite(t)
	c := startCDP(t, "--allow-domain", "127.0.0.1", "--enable-mutations")
	if _, stderr, err := execute(t, c.data, []byte(testPassword), "secrets", "set", "shop.password", "--origin", site.URL); err != nil {
		t.Fatal(err, stderr)
	}
	enter := map[string]any{"selector": "#password", "text": "{{shop.password}}"}
	tab := regexp.MustCompile(`cdp:\w+:\d+`).FindString(c.server.call(t, "tab_new", map[string]any{"url": site.URL + "/login"}))
	if status, body := get(t, c.url+"/json/version", nil); status != http.StatusOK { // excludes no secrets
		t.Fatal(status, body)
	}
	c.server.call(t, "type", enter)
	connect := func() (failed string) {
		t.Helper()
		status, body := get(t, c.url+"/json/version", nil)
		if status != http.StatusOK {
			return body
		}
		var version struct{ WebSocketDebuggerURL string }
		if err := json.Unmarshal([]byte(body), &version); err != nil {
			t.Fatal(err)
		}
		conn, status := dialCDP(t, version.WebSocketDebuggerURL, nil)
		if conn == nil {
			t.Fatalf("status %d", status)
		}
		_, failed = conn.call(t, "", "Target.getTargets", nil)
		return failed
	}
	if failed := connect(); !strings.Contains(failed, "a secret was typed in a page of this browser") {
		t.Fatalf("connecting after a secret was typed: %s", failed)
	}
	c.server.call(t, "tab_close", map[string]any{"tabId": tab})
	if failed := connect(); failed != "" {
		t.Fatalf("connecting after the tab was closed: %s", failed)
	}
	c.server.call(t, "tab_new", map[string]any{"url": site.URL + "/login"})
	c.server.refused(t, "POLICY_DENIED", "type", enter, "a CDP client was connected", "nothing was typed")
	if site.got("password=") {
		t.Error("the form was sent")
	}
}

// TestSecretsCommand checks the messages of the command.
func TestSecretsCommand(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, tt := range []struct {
		args, stdin, want, hint string // no hint: it succeeds
	}{
		{"list", "", "No secrets.", ""},
		{"test", "", "No secrets.", ""},
		{"set shop.password", testPassword, "secret shop does not exist, and a new one needs --origin", "--origin https://github.com"},
		{"set shop.password --origin https://shop.example", testPassword + "\nuser: ann\n", "the value of shop.password has several lines", "head -n 1"},
		{"set shop.password --origin https://shop.example --origin http://localhost:8080", testPassword, "shop.password is set in secrets.json, for https://shop.example and http://localhost:8080.", ""},
		{"set shop.totp --origin https://shop.example", testSeed, "shop.totp is set in secrets.json, for https://shop.example.", ""},
		{"test shop.password", "", "shop.password  file  ok", ""},
		{"test shop.pin", "", "no such secret: shop.pin", "secrets list"},
		{"remove shop.pin", "", "no such secret: shop.pin", "secrets list"},
		{"remove bank", "", "no such secret: bank", "secrets list"},
		{"remove shop", "", "shop is removed.", ""},
	} {
		stdout, stderr, err := execute(t, data, []byte(tt.stdin), append([]string{"secrets"}, strings.Fields(tt.args)...)...)
		if (err != nil) != (tt.hint != "") || !strings.Contains(stdout+stderr, tt.want) || !strings.Contains(stderr, tt.hint) || strings.Contains(stdout+stderr, testPassword) {
			t.Errorf("secrets %s: %v\n%s%s", tt.args, err, stdout, stderr)
		}
	}
}

// TestSecretsFlag checks which secrets a session gets.
func TestSecretsFlag(t *testing.T) {
	s := newSecretsTest(t, "--secrets=other, none-of-these")
	s.call(t, "secrets_list", nil, "no secrets")
	tab := s.open("/login")
	s.call(t, "type", secretArgs(tab, "#comment", "{{shop.password}}"), "secret {{shop.password}} not found")
}

// TestSecretsOfTokens uses a server with two tokens, each with its secret. A client cannot use
// the secret of the other token. The session that has typed a secret gets masked results, and those of
// other sessions, also of the same token, do not depend on it.
func TestSecretsOfTokens(t *testing.T) {
	needChromium(t)
	c := newCommandLine(t)
	s := &secretsTest{t: t, data: c.data, site: newLoginSite(t)}
	s.set("shop.password", testPassword, "--origin", s.site.URL)
	s.set("bank.password", "another value", "--origin", s.site.URL)
	s.site.page("/session", "<p>You sent: $BODY</p>")
	s.site.page("/shown", "<p>It is "+html.EscapeString(testPassword)+"</p>")
	record := filepath.Join(t.TempDir(), "audit.jsonl")
	settings := func(secret string) string {
		set := server.Settings{
			"secrets": {secret}, "allow-domain": {"127.0.0.1"}, "enable-mutations": {"true"}, "tools": {"core,people"},
			"headless": {"true"}, "audit-log": {record},
		}
		if browser := os.Getenv("CHROME_MCP_BROWSER"); browser != "" {
			set["browser"] = []string{browser}
		}
		for _, flag := range rootNeedsNoSandbox() {
			set[strings.TrimPrefix(flag, "--")] = []string{"true"}
		}
		return asJSON(set)
	}
	path, tokens := writeTokens(t, map[string]string{"ann": settings("shop"), "ben": settings("bank")})
	url, log := c.serveOn("127.0.0.1:0", "--token-file", path)
	connect := func(token, session string) *mcpServer {
		t.Helper()
		client, err := connectHTTP(t, url, tokens[token], session)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.client.Close() })
		return client
	}
	ann, second, ben := connect("ann", "first"), connect("ann", "second"), connect("ben", "first")
	shown := func(client *mcpServer) string {
		t.Helper()
		client.call(t, "navigate", map[string]any{"url": s.site.URL + "/shown"})
		return client.call(t, "get_text", nil)
	}
	before := map[*mcpServer]string{second: shown(second), ben: shown(ben)}
	submit := func(client *mcpServer, secret string) string {
		t.Helper()
		client.call(t, "navigate", map[string]any{"url": s.site.URL + "/login"})
		text := client.call(t, "type", map[string]any{"selector": "#password", "text": secret, "pressEnter": true})
		client.call(t, "wait_for", map[string]any{"text": "You sent"})
		return text
	}

	if list := ben.call(t, "secrets_list", nil, "{{bank.password}}"); strings.Contains(list, "shop") {
		t.Errorf("secrets_list of the other token: %s", list)
	}
	wants(t, "type with the other token", submit(ben, "{{shop.password}}"), []string{"secret {{shop.password}} not found"})
	if !s.site.got("password=%7B%7Bshop.password%7D%7D") || s.site.got("password=Kw7") {
		t.Errorf("the site received %q from the client that may not use the secret", s.site.received)
	}
	submit(ben, "{{bank.password}}")
	submit(ann, "{{shop.password}}")
	if !s.site.got("password=Kw7%23qLz9%26vX") || !s.site.got("password=another+value") {
		t.Errorf("the site received %q, want both secrets", s.site.received)
	}
	s.wantNothing("get_text", ann.call(t, "get_text", nil, "You sent", "••••"))
	s.wantNothing("get_text", shown(ann))
	status, body := curl(t, "-H", "Authorization: Bearer "+tokens["ann"], "--json", "{}", url+"/v1/sessions/first/tools/snapshot")
	if s.wantNothing("REST", body); status != "200" || !strings.Contains(body, "••••") {
		t.Errorf("REST: %s %s", status, body)
	}
	for client, text := range before {
		if now := shown(client); now != text || !strings.Contains(now, testPassword) {
			t.Errorf("a session that has typed no secret of the first token reads\n%s\nafter another typed it, and before\n%s", now, text)
		}
	}
	s.wantNothing("the log", log.String())
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	s.wantNothing("the audit log", string(data))
}
