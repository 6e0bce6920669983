package bridge

import (
	"os"
	"path/filepath"
	"sync/atomic"
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
	other, err := New(&Options{DataDir: dir, ExtensionID: ourID, Port: AnyPort})
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

// TestChangedPolicyIsSent checks that a connected extension receives a policy that has changed
// without a call of PolicyChanged.
func TestChangedPolicyIsSent(t *testing.T) {
	var port atomic.Int64
	dir := filepath.Join(t.TempDir(), "data")
	s, err := New(&Options{DataDir: dir, ExtensionID: ourID, Port: AnyPort, Policy: func() Policy {
		return Policy{OwnPorts: []int{int(port.Load())}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	for _, want := range []int64{8931, 8932} {
		port.Store(want)
		if change, ok := c.receive().(*wire.PolicyChange); !ok || int64(change.Policy.OwnPorts[0]) != want {
			t.Fatalf("got %+v, want port %d", change, want)
		}
	}
}
