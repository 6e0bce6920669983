package bridge

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// pair creates a pairing string and uses it. It returns the installation's key.
func pair(t *testing.T, s *Server, dir, installation string) (*client, []byte) {
	t.Helper()
	path, err := NewPairing(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, info, err := readPrivate(path)
	if err != nil || info.Size() == 0 {
		t.Fatal(err)
	}
	port, secret, err := wire.ParsePairingString(string(text))
	if err != nil || port != s.Port() {
		t.Fatalf("port %d, %v", port, err)
	}
	c := connect(t, s, installation, wire.KeyPairing, secret)
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the pairing file still exists: %v", err)
	}
	if c.welcome.Pairing == nil {
		t.Fatal("no key in welcome")
	}
	key, err := c.tr.Unseal(secret, c.welcome.Pairing.Key)
	if err != nil {
		t.Fatal(err)
	}
	return c, key
}

func TestPairing(t *testing.T) {
	s, dir, _ := start(t)
	path, err := NewPairing(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := readPrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := wire.ParsePairingString(string(text))

	// Of two concurrent uses of the string, one succeeds.
	slow := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "slow", kind: wire.KeyPairing, key: secret}
	slow.challenge()
	// A wrong proof does not invalidate the string.
	wrong := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "wrong", kind: wire.KeyPairing, key: secret}
	wrong.challenge()
	wrong.send(&wire.Proof{MAC: wrong.tr.ClientMAC(wire.NewKey())})
	wrong.wantRejected(wire.ReasonBadProof)

	c := connect(t, s, "quick", wire.KeyPairing, secret)
	key, err := c.tr.Unseal(secret, c.welcome.Pairing.Key)
	if err != nil || bytes.Equal(key, secret) {
		t.Fatalf("key %x, %v", key, err)
	}
	slow.send(&wire.Proof{MAC: slow.tr.ClientMAC(secret)})
	slow.wantRejected(wire.ReasonNotPaired)
	late := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "late", kind: wire.KeyPairing, key: secret}
	hello, _ := late.hello()
	late.send(hello)
	wantContains(t, late.wantRejected(wire.ReasonNotPaired).Message, "Get a new one")

	// The key is valid for this installation only, also after a restart of the server.
	again := connect(t, s, "quick", wire.KeyPaired, key)
	again.answer(echo)
	if again.welcome.Pairing != nil {
		t.Error("the server sent another key")
	}
	checkWorks(t, waitConn(t, s, "quick"))
	thief := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "thief", kind: wire.KeyPaired, key: key}
	hello, _ = thief.hello()
	thief.send(hello)
	thief.wantRejected(wire.ReasonNotPaired)
	s.Close()
	next, err := New(&Options{DataDir: dir, ExtensionID: ourID, Port: AnyPort})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	connect(t, next, "quick", wire.KeyPaired, key)
	list, err := Pairings(dir)
	if err != nil || len(list) != 1 || list[0].Installation != "quick" || list[0].Chrome != "140.0" {
		t.Errorf("pairings %+v, %v", list, err)
	}
}

func TestUnpair(t *testing.T) {
	s, dir, _ := start(t)
	_, keyA := pair(t, s, dir, "a")
	pair(t, s, dir, "b")
	boot := connect(t, s, "boot", wire.KeyToken, token(t, s, dir))
	boot.answer(echo)
	connect(t, s, "a", wire.KeyPaired, keyA)
	a, b := waitConn(t, s, "a"), waitConn(t, s, "b")
	if n, err := Unpair(dir, "a", "unknown"); n != 1 || err != nil {
		t.Fatalf("Unpair: %d, %v", n, err)
	}
	await.Receive(t, "end of the connection", a.Done())
	select {
	case <-b.Done():
		t.Error("the connection of the other installation ended")
	default:
	}
	if n, err := Unpair(dir); n != 1 || err != nil {
		t.Errorf("Unpair all: %d, %v", n, err)
	}
	await.Receive(t, "end of the connection", b.Done())
	checkWorks(t, waitConn(t, s, "boot"))
	if n, err := Unpair(dir); n != 0 || err != nil {
		t.Errorf("Unpair without pairings: %d, %v", n, err)
	}
}

func TestPairingExpires(t *testing.T) {
	s, dir, _ := start(t)
	path, err := NewPairing(dir)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * PairingLifetime)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if s.dataDir.pairingSecret(time.Now()) != nil {
		t.Error("an expired pairing string is valid")
	}
	s.watchPairings()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the expired file still exists: %v", err)
	}
}

func TestPairingNeedsServer(t *testing.T) {
	_, err := NewPairing(t.TempDir())
	if !errors.Is(err, errs.ErrNoBackend) {
		t.Errorf("error %v", err)
	}
}

func TestMalformedPairings(t *testing.T) {
	s, dir, _ := start(t)
	const secret = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	if err := os.WriteFile(filepath.Join(dir, "pairings.json"), []byte(`{"v":1,"pairings":"`+secret+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Pairings(dir); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
	if s.dataDir.pairedKey("a") != nil {
		t.Error("got a key from a malformed file")
	}
	connect(t, s, "a", wire.KeyToken, token(t, s, dir))
}
