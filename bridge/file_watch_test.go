package bridge

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestServersChangedNotification checks that connected extensions are notified when servers start and
// end, however they end.
func TestServersChangedNotification(t *testing.T) {
	s, dir, _ := start(t)
	c := connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	told := func(what string) {
		t.Helper()
		if f, ok := c.receive().(*wire.ServersChange); !ok {
			t.Fatalf("%s: got %+v", what, f)
		}
	}
	other, err := New(Options{DataDir: dir, ExtensionID: ourID, Port: AnyPort})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	told("a new server")
	other.Close()
	told("a server that ended")
	// A server that was killed leaves its file, until another one sweeps it.
	left := filepath.Join(dir, handshakesName, "1-1.json")
	if err := os.WriteFile(left, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	told("a file")
	if err := os.Remove(left); err != nil {
		t.Fatal(err)
	}
	told("a file that went")
}
