package main

import (
	"bytes"
	endian "encoding/binary"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
	"github.com/chrome-mcp/chrome-mcp/ownchrome"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// openTestBridge opens a bridge as the program does, with a new data directory.
func openTestBridge(t *testing.T) (*bridge.Server, *settings, *policy.Policy) {
	t.Helper()
	s, err := parse([]string{"--port=0", "--allow-domain=example.com", "--data", filepath.Join(t.TempDir(), "data")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := s.policy()
	if err != nil {
		t.Fatal(err)
	}
	return startTestBridge(t, s, rules), s, rules
}

// startTestBridge starts a server for the extension.
func startTestBridge(t *testing.T, s *settings, rules *policy.Policy) *bridge.Server {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	server, err := newBridge(s, policy.NewGuard(rules, nil), log)
	if err == nil {
		t.Cleanup(func() { server.Close() })
		err = openBridge(server, rules, log)
	}
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// token returns the token of the only server that uses data directory data.
func token(t *testing.T, data string) string {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(data, "handshakes", "*.json"))
	if len(paths) != 1 {
		t.Fatalf("handshake files %v", paths)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ Token string }
	if err := json.Unmarshal(text, &record); err != nil || record.Token == "" {
		t.Fatalf("no token: %v", err)
	}
	return record.Token
}

// execute runs the program with the data directory in its environment.
func execute(t *testing.T, data string, stdin []byte, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "CHROME_MCP_DATA="+data)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// TestUninstallDisconnects checks that uninstall disconnects a connected browser, if anything was
// installed.
func TestUninstallDisconnects(t *testing.T) {
	server, s, _ := openTestBridge(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	if s.extensionExpected() {
		t.Error("an extension is expected before one was installed")
	}
	var out bytes.Buffer
	if err := uninstallExtension(s, &out); err != nil || !strings.HasPrefix(out.String(), "No extension was installed") || server.Err() != nil {
		t.Fatalf("without an installation: %q, %v, %v", out.String(), err, server.Err())
	}
	if err := extension.Write(s.extensionDir()); err != nil {
		t.Fatal(err)
	}
	if !s.extensionExpected() {
		t.Error("extension installed, but not expected")
	}
	out.Reset()
	if err := uninstallExtension(s, &out); err != nil || !strings.Contains(out.String(), "Disconnected 1 server from all browsers") {
		t.Fatalf("%q, %v", out.String(), err)
	}
	await.Until(t, "the connection to be closed", func() bool { return server.Err() != nil })
}

// TestNativeHost starts the program as a browser does.
func TestNativeHost(t *testing.T) {
	server, s, _ := openTestBridge(t)
	secret := token(t, s.data)
	request := []byte(`{"v":1,"type":"servers"}`)
	request = append(endian.LittleEndian.AppendUint32(nil, uint32(len(request))), request...)
	origin := "chrome-extension://" + extension.ID() + "/"
	for _, args := range [][]string{
		{origin}, {origin, "--parent-window=0"}, {"native-host", origin},
		{"--data", s.data, "native-host", origin, "--parent-window=0"},
	} {
		stdout, stderr, err := execute(t, s.data, request, args...)
		if err != nil || stderr != "" || len(stdout) < 4 {
			t.Fatalf("%v: %q, %q, %v", args, stdout, stderr, err)
		}
		var answer struct {
			V       int
			Servers []struct {
				Port, PID   int
				Token, Name string
			}
		}
		if err := json.Unmarshal([]byte(stdout[4:]), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Servers) != 1 || answer.Servers[0].Port != server.Port() || answer.Servers[0].Token != secret || answer.Servers[0].Name == "" {
			t.Errorf("%v: answer %s", args, stdout[4:])
		}
	}
	stdout, stderr, err := execute(t, s.data, request, "chrome-extension://"+strings.Repeat("a", 32)+"/")
	if err == nil || stdout != "" || strings.Contains(stderr, secret) {
		t.Errorf("another extension: %q, %q, %v", stdout, stderr, err)
	}
}

// TestCommandsKeepSecrets runs the commands that a user runs next to a server.
func TestCommandsKeepSecrets(t *testing.T) {
	server, s, _ := openTestBridge(t)
	secrets := []string{token(t, s.data)}
	var told strings.Builder
	run := func(args ...string) string {
		stdout, stderr, err := execute(t, s.data, nil, args...)
		if err != nil {
			t.Errorf("%v: %v %s", args, err, stderr)
		}
		told.WriteString(stdout + stderr + strings.Join(args, " "))
		return stdout
	}
	path := strings.TrimSpace(run("--print-pairing"))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
	}
	port, secret, err := wire.ParsePairingString(string(text))
	if err != nil || port != server.Port() {
		t.Errorf("port %d, %v", port, err)
	}
	secrets = append(secrets, wire.EncodeKey(secret), strings.TrimSpace(string(text)))
	run("extension", "unpair")
	instance, _ := server.Pipe("someone")
	if out := run("stop"); !strings.Contains(out, "Disconnected 1 server") {
		t.Errorf("stop prints %q", out)
	}
	await.Receive(t, "the connection to be closed", instance.Done())
	for _, secret := range secrets {
		if strings.Contains(told.String(), secret) {
			t.Error("the output contains a secret")
		}
	}
}

// TestPagesCannotReachBridge checks that an agent cannot navigate to the bridge under any policy,
// and that the extension receives this rule.
func TestPagesCannotReachBridge(t *testing.T) {
	server, _, rules := openTestBridge(t)
	w := ownchrome.Rules(rules)
	if !slices.Equal(w.OwnPorts, []int{server.Port()}) || !slices.Equal(w.Allow, []string{"example.com"}) || w.Subresources != "public" {
		t.Errorf("rules %+v", w)
	}
	open, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	open.AddOwnPort(server.Port())
	if _, err := open.CheckURL("http://127.0.0.1:" + (&portFlag{true, server.Port()}).String() + "/"); err == nil {
		t.Error("the bridge can be reached")
	}
	response, err := http.Get("http://127.0.0.1:" + (&portFlag{true, server.Port()}).String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a page receives %s", response.Status)
	}
}

// TestPagesCannotReachOtherProcesses checks that a second process of a data directory denies the port of
// the first one, whatever its policy allows.
func TestPagesCannotReachOtherProcesses(t *testing.T) {
	first, s, _ := openTestBridge(t)
	second, err := policy.New(policy.Config{AllowDomains: []string{"127.0.0.1", "localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	second.AddOwnPorts(ownPorts(s.data))
	for _, host := range []string{"127.0.0.1", "localhost"} {
		url := "http://" + host + ":" + (&portFlag{true, first.Port()}).String() + "/"
		if _, err := second.CheckURL(url); executor.CodeOf(err) != executor.ErrPolicyDenied {
			t.Errorf("%s: %v", url, err)
		}
		if err := second.CheckHost("http", host, first.Port()); err == nil {
			t.Errorf("pages can load from %s", url)
		}
	}
	if !slices.Contains(ownchrome.Rules(second).OwnPorts, first.Port()) {
		t.Error("the extension does not get the port")
	}
}

func TestNativeHostDirs(t *testing.T) {
	for _, tt := range []struct{ browser, goos, config, want string }{
		{"chrome", "linux", "", "/home/ann/.config/google-chrome"},
		{"chrome", "linux", "/x", "/x/google-chrome"},
		{"brave", "linux", "not/absolute", "/home/ann/.config/BraveSoftware/Brave-Browser"},
		{"edge", "linux", "", "/home/ann/.config/microsoft-edge"},
		{"chromium", "freebsd", "", "/home/ann/.config/chromium"},
		{"chrome", "darwin", "/x", "/home/ann/Library/Application Support/Google/Chrome"},
		{"edge", "darwin", "", "/home/ann/Library/Application Support/Microsoft Edge"},
		{"chrome", "windows", "", ""},
	} {
		at := slices.IndexFunc(hostBrowsers, func(b hostBrowser) bool { return b.name == tt.browser })
		if got := hostBrowsers[at].manifestDir(tt.goos, "/home/ann", tt.config); filepath.ToSlash(got) != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.browser, tt.goos, got, tt.want)
		}
	}
}

func TestPortFlag(t *testing.T) {
	for text, want := range map[string]int{"0": bridge.AnyPort, "4711": 4711, "65535": 65535} {
		var p portFlag
		if err := p.Set(text); err != nil || p.option() != want || p.String() != text {
			t.Errorf("%s: %d %q, %v", text, p.option(), &p, err)
		}
	}
	if p := new(portFlag); p.option() != 0 || p.String() != "" {
		t.Errorf("unset: %d %q", p.option(), p)
	}
	for _, text := range []string{"", "-1", "65536", "x", "1.5"} {
		if err := new(portFlag).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
