package extension_test

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// hostEnv makes the test binary the native messaging host. Its value is the path of
// the file with the list of servers.
const hostEnv = "EXTENSION_TEST_SERVERS"

func TestMain(m *testing.M) {
	timing.ScaleForTests(5)
	if path := os.Getenv(hostEnv); path != "" {
		nativeHost(path)
		return
	}
	os.Exit(m.Run())
}

// nativeHost responds like the real host: to each query with the list, and with a
// message when the list changes.
func nativeHost(path string) {
	read := func() string {
		list, err := os.ReadFile(path)
		if err != nil {
			return "[]"
		}
		return string(list)
	}
	write := func(reply string) {
		binary.Write(os.Stdout, binary.NativeEndian, uint32(len(reply)))
		os.Stdout.WriteString(reply)
	}
	queries := make(chan bool)
	go func() {
		defer close(queries)
		for {
			m, err := readMessage()
			if err != nil {
				return
			}
			if m["type"] == "chats" {
				chatHost(path)
				os.Exit(0)
			}
			queries <- true
		}
	}()
	last := read()
	for {
		select {
		case _, more := <-queries:
			if !more {
				return
			}
			last = read()
			write(`{"v":1,"servers":` + last + `}`)
		case <-time.After(await.MaxPoll):
			if now := read(); now != last {
				last = now
				write(`{"v":1,"changed":true}`)
			}
		}
	}
}

// readMessage reads a message of the browser.
func readMessage() (map[string]any, error) {
	var size uint32
	if err := binary.Read(os.Stdin, binary.NativeEndian, &size); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(os.Stdin, data); err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(data, &m)
}

// A browser is a Chromium with the extension, whose native messaging host is the
// test binary.
type browser struct {
	*userbrowser.Browser
	t       testing.TB
	servers string // the file that the native host reads
	host    string // the manifest of the native host
}

// start starts the browser with the extension as written by Write. flags override
// our own.
func start(t testing.TB, flags ...string) *browser {
	return startWith(t, nil, flags...)
}

// startWith is start with additional extensions in the given directories.
func startWith(t testing.TB, others []string, flags ...string) *browser {
	t.Helper()
	root, err := os.MkdirTemp("", "extension-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	profile, dir := filepath.Join(root, "profile"), filepath.Join(root, "extension")
	userbrowser.WriteExtension(t, dir)
	b := &browser{t: t, servers: filepath.Join(root, "servers.json")}
	b.host = filepath.Join(profile, "NativeMessagingHosts", wire.HostName+".json")
	if err := os.MkdirAll(filepath.Dir(b.host), 0o700); err != nil {
		t.Fatal(err)
	}
	b.installHost()

	b.Browser = userbrowser.Start(t, userbrowser.Options{
		Profile: profile, Extensions: append([]string{dir}, others...), Flags: append([]string{"--host-resolver-rules=MAP *.test 127.0.0.1"}, flags...),
		Env: append(os.Environ(), hostEnv+"="+b.servers, "HOME="+root),
	})
	return b
}

// installHost registers the test binary as the native messaging host.
func (b *browser) installHost() {
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	manifest, err := json.Marshal(map[string]any{
		"name": wire.HostName, "description": "test", "path": self, "type": "stdio",
		"allowed_origins": []string{"chrome-extension://" + extension.ID() + "/"},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.host, manifest, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run sets the list of running servers of the native host.
func (b *browser) run(servers ...*fakeServer) {
	b.t.Helper()
	list := []map[string]any{}
	for _, s := range servers {
		list = append(list, map[string]any{
			"port": s.port, "token": wire.EncodeKey(s.keys[wire.KeyToken]), "pid": s.port, "name": s.name, "started": 1, "given": s.given,
		})
	}
	data, err := json.Marshal(list)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.servers+".new", data, 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(b.servers+".new", b.servers); err != nil {
		b.t.Fatal(err)
	}
}

// popup opens the popup, clicks in it and closes it.
func (b *browser) popup(t testing.TB, work func(click func(selector, text string))) {
	t.Helper()
	b.Popup(t, func(session string) {
		work(func(selector, text string) {
			t.Helper()
			b.Click(t, session, selector, text)
		})
	})
}
