package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestSecretsStaySecret causes all kinds of errors, and searches for keys in the log, in responses to
// unauthenticated clients, and in printed values.
func TestSecretsStaySecret(t *testing.T) {
	s, dir, log := start(t)
	boot := token(t, s, dir)
	secrets := map[string][]byte{"token": boot}
	var output strings.Builder

	c := connect(t, s, "a", wire.KeyToken, boot)
	fmt.Fprintf(&output, "%+v", c.welcome)
	wrong := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "b", kind: wire.KeyToken, key: boot}
	ch := wrong.challenge()
	fmt.Fprintf(&output, "%+v", ch)
	wrong.send(&wire.Proof{MAC: wire.EncodeKey(boot)}) // the token in place of the proof
	fmt.Fprintf(&output, "%+v", wrong.wantRejected(wire.ReasonBadProof))

	path, err := NewPairing(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(&output, path)
	_, secret, _ := wire.ParsePairingString(string(text))
	secrets["pairing secret"] = secret
	p := connect(t, s, "p", wire.KeyPairing, secret)
	key, err := p.tr.Unseal(secret, p.welcome.Pairing.Key)
	if err != nil {
		t.Fatal(err)
	}
	secrets["paired key"] = key
	fmt.Fprintf(&output, "%+v", p.welcome)
	data, _ := os.ReadFile(filepath.Join(dir, "pairings.json"))
	if !strings.Contains(string(data), wire.EncodeKey(key)) {
		t.Error("the pairing was not stored")
	}
	for _, kind := range []string{wire.KeyPaired, wire.KeyPairing} {
		x := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "x", kind: kind, key: secret}
		hello, _ := x.hello()
		x.send(hello)
		fmt.Fprintf(&output, "%+v", x.wantRejected(wire.ReasonNotPaired))
	}
	c.sendText(`{"type":"result","v":2,"token":"` + wire.EncodeKey(boot) + `"}`) // in a malformed message
	c.sendText(wire.EncodeKey(boot))
	os.Chmod(publishedPath(s), 0o644)
	if err := readJSON(publishedPath(s), new(handshakeRecord)); err != nil {
		fmt.Fprint(&output, err)
	}
	conn := waitConn(t, s, "p")
	fmt.Fprint(&output, conn.Err(), s.Displaced(), RunningServers(dir))
	fmt.Fprintf(&output, "%v", os.Args)
	for _, v := range os.Environ() {
		fmt.Fprint(&output, v)
	}
	if err := s.Rotate(); err != nil {
		t.Fatal(err)
	}
	secrets["second token"] = token(t, s, dir)
	await.Receive(t, "end of the connection", conn.Done())
	fmt.Fprint(&output, conn.Err())
	s.Close()

	for where, text := range map[string]string{"log": log.String(), "output": output.String()} {
		if len(text) < 100 {
			t.Errorf("%s is too short for the test: %q", where, text)
		}
		for name, key := range secrets {
			for _, form := range []string{wire.EncodeKey(key), fmt.Sprintf("%x", key), fmt.Sprint(key), string(key), wire.EncodeKey(key)[:20]} {
				if strings.Contains(text, form) {
					t.Errorf("%s contains the %s", where, name)
				}
			}
		}
		if strings.Contains(text, wire.PairingPrefix) {
			t.Errorf("%s contains a pairing string", where)
		}
	}
}
