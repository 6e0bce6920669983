package main

import (
	"bytes"
	endian "encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
	"github.com/chrome-mcp/chrome-mcp/ownchrome"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// openTestBridge opens a bridge of a policy, as the program does, with a new data directory.
func openTestBridge(t *testing.T) (server *bridge.Server, data string, rules *policy.Policy) {
	t.Helper()
	rules, err := policy.New(policy.Config{AllowDomains: []string{"example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(t.TempDir(), "data")
	return startTestBridge(t, data, rules), data, rules
}

// startTestBridge starts a server for the extension.
func startTestBridge(t *testing.T, data string, rules *policy.Policy) *bridge.Server {
	t.Helper()
	server, err := bridge.New(&bridge.Options{
		DataDir: data, ExtensionID: extension.ID(), StoreID: extension.StoreID, Port: bridge.AnyPort,
		Policy: func() bridge.Policy { return ownchrome.Rules(rules) },
	})
	if err == nil {
		t.Cleanup(func() { server.Close() })
		err = server.Start()
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

// TestNativeHost starts the program as a browser does.
func TestNativeHost(t *testing.T) {
	server, data, _ := openTestBridge(t)
	secret := token(t, data)
	request := []byte(`{"v":1,"type":"servers"}`)
	request = append(endian.LittleEndian.AppendUint32(nil, uint32(len(request))), request...)
	origin := "chrome-extension://" + extension.ID() + "/"
	for _, args := range [][]string{
		{origin}, {origin, "--parent-window=0"}, {"native-host", origin},
		{"--data", data, "native-host", origin, "--parent-window=0"},
	} {
		stdout, stderr, err := execute(t, data, request, args...)
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
	stdout, stderr, err := execute(t, data, request, "chrome-extension://"+strings.Repeat("a", 32)+"/")
	if err == nil || stdout != "" || strings.Contains(stderr, secret) {
		t.Errorf("another extension: %q, %q, %v", stdout, stderr, err)
	}
}

// TestCommandsKeepSecrets runs the commands that a user runs next to a server.
func TestCommandsKeepSecrets(t *testing.T) {
	server, data, _ := openTestBridge(t)
	secrets := []string{token(t, data)}
	var told strings.Builder
	run := func(args ...string) string {
		stdout, stderr, err := execute(t, data, nil, args...)
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
	conn, _ := server.Pipe("someone")
	if out := run("stop"); !strings.Contains(out, "Disconnected 1 server") {
		t.Errorf("stop prints %q", out)
	}
	await.Receive(t, "the connection to be closed", conn.Done())
	for _, secret := range secrets {
		if strings.Contains(told.String(), secret) {
			t.Error("the output contains a secret")
		}
	}
}
