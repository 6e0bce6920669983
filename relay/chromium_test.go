package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// A plainBrowser is a Chromium without our backend: all clients share its network, and nothing is
// denied there. So a test that gets past the relay sees the effect.
type plainBrowser struct {
	executor.Backend
	address string
}

// startPlain starts a Chromium.
func startPlain(t testing.TB) *plainBrowser {
	t.Helper()
	path := userbrowser.Find(t)
	args := []string{"--headless", "--remote-debugging-port=0", "--user-data-dir=" + t.TempDir(), "--disable-extensions", "--no-first-run", "about:blank"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(path, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &plainBrowser{}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // Chromium exits, and its children
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, address, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
			b.address = address
			go func() {
				for lines.Scan() {
				}
			}()
			return b
		}
	}
	t.Fatal("no DevTools address")
	return nil
}

func (b *plainBrowser) ConnectCDP(ctx context.Context, _ *executor.CDPOptions) (executor.CDPConn, error) {
	ws, _, err := websocket.Dial(ctx, b.address, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(256 << 20)
	return plainConn{ws}, nil
}

type plainConn struct{ ws *websocket.Conn }

func (c plainConn) Send(_ context.Context, m executor.CDPMessage) error {
	return c.ws.Write(context.Background(), websocket.MessageText, encode(message{ID: m.ID, Session: m.SessionID, Method: m.Method, Params: m.Params}))
}

func (c plainConn) Receive(context.Context) (executor.CDPMessage, error) {
	_, data, err := c.ws.Read(context.Background())
	if err != nil {
		return executor.CDPMessage{}, err
	}
	var m message
	err = json.Unmarshal(data, &m)
	return executor.CDPMessage{ID: m.ID, SessionID: m.Session, Method: m.Method, Params: m.Params, Result: m.Result, Error: m.Error}, err
}

func (c plainConn) TabID(string) executor.TabID { return "" }

func (c plainConn) HandedOver(string) bool { return false }

func (c plainConn) HandoversChanged() <-chan struct{} { return nil }

func (c plainConn) Close() error {
	_ = c.ws.CloseNow()
	return nil
}
