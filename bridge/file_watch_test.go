package bridge

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestServersChangedNotification checks that connected extensions are notified when servers start
// and exit, also if they are killed.
func TestServersChangedNotification(t *testing.T) {
	s, dir, _ := start(t)
	c := connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	wantNotified := func(what string) {
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
	wantNotified("a new server")
	other.Close()
	wantNotified("a closed server")
	// A killed server leaves its file, until another server removes it.
	left := filepath.Join(dir, handshakesName, "1-1.json")
	if err := os.WriteFile(left, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantNotified("a new file")
	if err := os.Remove(left); err != nil {
		t.Fatal(err)
	}
	wantNotified("a removed file")
}
