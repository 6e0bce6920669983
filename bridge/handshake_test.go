package bridge

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

func TestWelcome(t *testing.T) {
	s, dir, _ := start(t)
	changed := s.Changed()
	c := connect(t, s, "profile-1", wire.KeyToken, token(t, s, dir))
	c.answer(echo)
	conn := waitConn(t, s, "profile-1")
	select {
	case <-changed:
	default:
		t.Error("Changed is not closed")
	}
	if conn.Chrome() != "140.0" || conn.Version() != "1.0" || conn.InstanceID() != c.welcome.Session || conn.Err() != nil {
		t.Errorf("connection %q %q %q %v", conn.Chrome(), conn.Version(), conn.InstanceID(), conn.Err())
	}
	w := c.welcome
	if w.Server.Name != "a test" || w.Server.Version != "1.2.3" || w.HeartbeatMs != 15000 || w.Pairing != nil || len(w.Policy.Allow) != 1 {
		t.Errorf("welcome %+v", w)
	}
	checkWorks(t, conn)
	c.ws.Close(websocket.StatusNormalClosure, "")
	await.Receive(t, "end of the connection", conn.Done())
	if err := conn.Err(); !errors.Is(err, errs.ErrExtensionDisconnected) {
		t.Errorf("Err returns %v", err)
	}
	if err := conn.Call(t.Context(), wire.MethodPing, nil, nil); !errors.Is(err, errs.ErrExtensionDisconnected) {
		t.Errorf("a call after the end: %v", err)
	}
	await.Until(t, "the connection to be removed", func() bool { return len(s.Connections()) == 0 })
}

// TestInstanceIDs checks that an installation keeps its instance id while its browser runs, and
// that each run of a browser has another one.
func TestInstanceIDs(t *testing.T) {
	s, err := New(&Options{ExtensionID: ourID})
	if err != nil {
		t.Fatal(err)
	}
	first := s.instanceIDFor("a", "run1")
	if len(first) != 6 || s.instanceIDFor("a", "run1") != first || s.instanceIDFor("a", "run2") == first || s.instanceIDFor("b", "run1") == first {
		t.Errorf("instance ids %s %s %s %s", first, s.instanceIDFor("a", "run1"), s.instanceIDFor("a", "run2"), s.instanceIDFor("b", "run1"))
	}
}

// TestMismatch checks that a server reports the other version of the last program that tried to connect
// as the extension, as a claim of that program, until another one tries to connect.
func TestMismatch(t *testing.T) {
	s, dir, _ := start(t)
	try := func(version string) error {
		t.Helper()
		c := &client{t: t, ws: dial(t, s.Port()), port: s.Port()}
		c.sendText(`{"type":"hello","v":` + version + `,"instance":"x"}`)
		c.wantRejected(wire.ReasonBadVersion)
		return s.Mismatch()
	}
	if err := try(`"1"`); err != nil {
		t.Errorf("not a version: %v", err)
	}
	for version, want := range map[string]string{
		"1": "the last program that tried to connect as the extension reported protocol version 1, which is older than version 2 of this program",
		"3": "the last program that tried to connect as the extension reported protocol version 3, which is newer than version 2 of this program",
	} {
		var e *errs.Error
		if err := try(version); !errors.As(err, &e) || e.Code != errs.ErrNoBackend || !strings.Contains(e.Message(), want) || !strings.HasPrefix(e.Hint, "If it is the extension, ") {
			t.Errorf("version %s: %v", version, err)
		}
	}
	for name, attempt := range map[string]func(c *client){
		"an unpaired extension": func(c *client) {
			hello, _ := c.hello()
			hello.Key = wire.KeyPaired
			c.send(hello)
			c.wantRejected(wire.ReasonNotPaired)
		},
		"a malformed hello": func(c *client) {
			c.sendText("junk")
			c.wantRejected(wire.ReasonBadHello)
		},
	} {
		if try("1") == nil {
			t.Error("no error")
		}
		attempt(&client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "x"})
		if err := s.Mismatch(); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	if try("1") == nil {
		t.Error("no error")
	}
	connect(t, s, "new", wire.KeyToken, token(t, s, dir))
	waitConn(t, s, "new")
	if err := s.Mismatch(); err != nil {
		t.Errorf("after a connection: %v", err)
	}
	if err := try("1"); err != nil {
		t.Errorf("while another is connected: %v", err)
	}
}

// TestBadInput checks that invalid input on one connection is rejected, and that it does not affect
// the extension's connection.
func TestBadInput(t *testing.T) {
	s, dir, log := start(t)
	key := token(t, s, dir)
	extension := connect(t, s, "real", wire.KeyToken, key)
	extension.answer(echo)
	conn := waitConn(t, s, "real")

	tests := []struct {
		name string
		do   func(t *testing.T, c *client)
	}{
		{"wrong proof", func(t *testing.T, c *client) {
			c.challenge()
			c.send(&wire.Proof{MAC: c.tr.ClientMAC(wire.NewKey())})
			c.wantRejected(wire.ReasonBadProof)
		}},
		{"the server's own proof", func(t *testing.T, c *client) {
			ch := c.challenge()
			c.send(&wire.Proof{MAC: ch.MAC})
			c.wantRejected(wire.ReasonBadProof)
		}},
		{"proof of another installation", func(t *testing.T, c *client) {
			c.challenge()
			c.tr.Installation = "real"
			c.send(&wire.Proof{MAC: c.tr.ClientMAC(key)})
			c.wantRejected(wire.ReasonBadProof)
		}},
		{"proof for another port", func(t *testing.T, c *client) {
			c.challenge()
			c.tr.Port++
			c.send(&wire.Proof{MAC: c.tr.ClientMAC(key)})
			c.wantRejected(wire.ReasonBadProof)
		}},
		{"replay", func(t *testing.T, c *client) {
			hello, nonce := c.hello()
			tap := &client{t: t, ws: dial(t, s.Port()), port: s.Port()}
			tap.send(hello)
			ch := tap.receive().(*wire.Challenge)
			tr := &wire.Transcript{ExtensionID: ourID, Installation: hello.Installation, Port: s.Port(), NonceC: nonce}
			tr.NonceS, _ = wire.DecodeKey(ch.Nonce)
			recorded := &wire.Proof{MAC: tr.ClientMAC(key)}
			tap.send(recorded)
			if _, ok := tap.receive().(*wire.Welcome); !ok {
				t.Fatal("the recorded handshake was rejected")
			}
			c.send(hello)
			if c.receive().(*wire.Challenge).Nonce == ch.Nonce {
				t.Error("the server repeats its nonce")
			}
			c.send(recorded)
			c.wantRejected(wire.ReasonBadProof)
		}},
		{"proof without hello", func(t *testing.T, c *client) {
			c.send(&wire.Proof{MAC: wire.EncodeKey(wire.NewKey())})
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"hello twice", func(t *testing.T, c *client) {
			c.challenge()
			hello, _ := c.hello()
			c.send(hello)
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"event before hello", func(t *testing.T, c *client) {
			c.send(&wire.Event{Event: wire.EventStopped, Data: []byte("{}")})
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"result before proof", func(t *testing.T, c *client) {
			c.challenge()
			c.send(&wire.Result{ID: wire.NewID(), Data: []byte("{}")})
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"wrong version", func(t *testing.T, c *client) {
			c.sendText(`{"type":"hello","v":3,"token":"x"}`)
			f := c.wantRejected(wire.ReasonBadVersion)
			wantContains(t, f.Message, "version 3")
			wantContains(t, f.Message, "Update chrome-mcp")
		}},
		{"junk", func(t *testing.T, c *client) {
			c.sendText("GET / HTTP/1.1")
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"empty", func(t *testing.T, c *client) {
			c.sendText("")
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"unknown keys", func(t *testing.T, c *client) {
			hello, _ := c.hello()
			data, _ := wire.Encode(hello)
			c.sendText(strings.Replace(string(data), "{", `{"token":"x",`, 1))
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"another extension in hello", func(t *testing.T, c *client) {
			hello, _ := c.hello()
			hello.Ext.ID = otherID
			c.send(hello)
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"not paired", func(t *testing.T, c *client) {
			hello, _ := c.hello()
			hello.Key = wire.KeyPaired
			c.send(hello)
			c.wantRejected(wire.ReasonNotPaired)
			if text := log.String(); !strings.Contains(text, `level=DEBUG msg="connection rejected: installation is not paired"`) {
				t.Errorf("the log is\n%s", text)
			}
		}},
		{"no active pairing string", func(t *testing.T, c *client) {
			hello, _ := c.hello()
			hello.Key = wire.KeyPairing
			c.send(hello)
			c.wantRejected(wire.ReasonNotPaired)
		}},
		{"binary", func(t *testing.T, c *client) {
			hello, _ := c.hello()
			data, _ := wire.Encode(hello)
			if err := c.ws.Write(t.Context(), websocket.MessageBinary, data); err != nil {
				t.Fatal(err)
			}
			c.wantRejected(wire.ReasonBadHello)
		}},
		{"oversized", func(t *testing.T, c *client) {
			go c.ws.Write(t.Context(), websocket.MessageText, make([]byte, wire.MaxHandshakeMessage+1))
			_, _, err := c.ws.Read(await.Context(t))
			if err == nil {
				t.Fatal("the server responded")
			}
			await.Until(t, "the log of the rejection", func() bool { return strings.Contains(log.String(), "rejected: message too long") })
		}},
		{"closed immediately", func(t *testing.T, c *client) { c.ws.CloseNow() }},
		{"closed before the proof", func(t *testing.T, c *client) {
			c.challenge()
			c.ws.CloseNow()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.Connections())
			tt.do(t, &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "stranger", kind: wire.KeyToken, key: key})
			checkWorks(t, conn)
			if n := len(s.Connections()); n > before && tt.name != "replay" {
				t.Errorf("%d connections, before %d", n, before)
			}
		})
	}
}

// TestProofWarning checks that a log has one warning about invalid proofs, and the others at another
// level.
func TestProofWarning(t *testing.T) {
	s, dir, log := start(t)
	for range 2 {
		c := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "stranger", kind: wire.KeyToken, key: token(t, s, dir)}
		c.challenge()
		c.send(&wire.Proof{MAC: c.tr.ClientMAC(wire.NewKey())})
		c.wantRejected(wire.ReasonBadProof)
	}
	await.Until(t, "the log of the rejections", func() bool { return strings.Count(log.String(), "connection rejected: invalid proof") == 2 })
	if n := strings.Count(log.String(), "level=WARN msg=\"connection rejected: invalid proof"); n != 1 {
		t.Errorf("%d warnings about invalid proofs, want 1", n)
	}
}

// TestHelloTimeout checks that a silent connection is rejected after 5 s, over a real socket.
func TestHelloTimeout(t *testing.T) {
	tier.Slow(t)
	t.Parallel()
	s, dir, _ := start(t)
	silent := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "a", kind: wire.KeyToken, key: token(t, s, dir)}
	half := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "b", kind: wire.KeyToken, key: token(t, s, dir)}
	half.challenge()
	silent.wantRejected(wire.ReasonTimeout)
	half.wantRejected(wire.ReasonTimeout)
}

// TestLateHello checks that a hello is accepted within 5 s and not later.
func TestLateHello(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(&Options{ExtensionID: ourID})
			if err != nil {
				t.Fatal(err)
			}
			a, b := newPipe()
			done := make(chan *Conn)
			go func() { done <- s.handshake(a, 1) }()
			time.Sleep(wire.HelloTimeout - time.Second)
			if late {
				time.Sleep(2 * time.Second)
			}
			hello, _ := (&client{installation: "a", kind: wire.KeyToken}).hello()
			data, _ := wire.Encode(hello)
			b.Write(t.Context(), data)
			if conn := <-done; conn != nil {
				t.Error("a connection was registered without a proof")
			}
			data, err = b.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f, _ := wire.Decode(data)
			want := wire.ReasonNotPaired // in time: this server has no token
			if late {
				want = wire.ReasonTimeout
			}
			if r, ok := f.(*wire.Rejection); !ok || r.Reason != want {
				t.Errorf("late %v: %+v, want %s", late, f, want)
			}
			if b.shared.code != wire.CloseRefused {
				t.Errorf("closed with %d", b.shared.code)
			}
		})
	}
}

// TestFlood checks that connections in every slot block neither a connected
// extension nor a new one.
func TestFlood(t *testing.T) {
	s, dir, _ := start(t)
	extension := connect(t, s, "real", wire.KeyToken, token(t, s, dir))
	extension.answer(echo)
	conn := waitConn(t, s, "real")
	for range 3 * maxOpen { // connections that send nothing
		dialRaw(t, s.Port())
	}
	for range 3 * maxPendingHandshakes { // connections that never send hello
		dial(t, s.Port())
	}
	for range 3 * maxOpen {
		dialRaw(t, s.Port())
	}
	if n := s.slots.count(); n > maxPendingHandshakes {
		t.Errorf("%d connections in handshake, want at most %d", n, maxPendingHandshakes)
	}
	checkWorks(t, conn)
	again := connect(t, s, "again", wire.KeyToken, token(t, s, dir))
	again.answer(echo)
	checkWorks(t, waitConn(t, s, "again"))
	checkWorks(t, conn)
}

// TestSlots checks that a new connection closes exactly one other connection when
// all slots are taken.
func TestSlots(t *testing.T) {
	var all slots
	all.max = 2
	closed := make(chan int)
	taken := make([]closer, 5)
	for i := range taken {
		taken[i] = func() { closed <- i }
		if got, want := all.take(&taken[i]), i >= all.max; got != want {
			t.Errorf("connection %d: evicted %v, want %v", i, got, want)
		}
		if i >= all.max {
			if n := <-closed; n == i {
				t.Errorf("connection %d closed itself", i)
			}
		}
	}
	for i := range taken {
		all.free(&taken[i])
		all.free(&taken[i])
	}
	if n := all.count(); n != 0 {
		t.Errorf("%d slots are taken", n)
	}
}

type closer func()

func (c *closer) Close() error { (*c)(); return nil }

// count returns how many slots are taken.
func (s *slots) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// TestDisplacement checks that only a newer connection of the same installation replaces a
// connection.
func TestDisplacement(t *testing.T) {
	s, dir, log := start(t)
	key := token(t, s, dir)
	first := connect(t, s, "a", wire.KeyToken, key)
	one := waitConn(t, s, "a")
	other := connect(t, s, "b", wire.KeyToken, key)
	other.answer(echo)
	two := waitConn(t, s, "b")
	if s.Displaced() != nil {
		t.Error("another installation displaced a connection")
	}

	// A connection that is opened before the next one, and sends its proof after it.
	slow := &client{t: t, ws: dial(t, s.Port()), port: s.Port(), installation: "a", kind: wire.KeyToken, key: key}
	slow.challenge()

	before := time.Now()
	second := connect(t, s, "a", wire.KeyToken, key)
	second.answer(echo)
	first.wantClosed(wire.CloseDisplaced)
	await.Receive(t, "end of the connection", one.Done())
	if second.welcome.Session != first.welcome.Session {
		t.Error("the instance id changed")
	}
	d := s.Displaced()
	if d == nil || d.Installation != "a" || d.Count != 1 || d.Time.Before(before) || d.Time.After(time.Now()) {
		t.Errorf("Displaced returns %+v", d)
	}
	slow.send(&wire.Proof{MAC: slow.tr.ClientMAC(key)})
	slow.wantClosed(wire.CloseDisplaced)
	checkWorks(t, waitConn(t, s, "a"))
	checkWorks(t, two)
	if got := len(s.Connections()); got != 2 {
		t.Errorf("%d connections", got)
	}
	wantContains(t, log.String(), "extension reconnected")
}

// TestJunkAfterWelcome checks that invalid messages do not affect the connection.
func TestJunkAfterWelcome(t *testing.T) {
	s, dir, log := start(t)
	c := connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	conn := waitConn(t, s, "a")
	hello, _ := c.hello()
	helloText, _ := wire.Encode(hello)
	for _, junk := range []string{
		"", "junk", "[]", `{"type":"result"}`, `{"type":"result","v":2}`, string(helloText),
		`{"type":"command","v":2,"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","method":"cdp","params":{},"timeoutMs":1}`,
		`{"type":"result","v":2,"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","data":{}}`, // without a command
		`{"type":"result","v":2,"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","data":{}}`,
		`{"type":"error","v":2,"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","error":{"code":"DETACHED","message":"x"}}`,
	} {
		c.sendText(junk)
	}
	answers := 0
	c.answer(func(cmd *wire.Command) wire.Message {
		// The response arrives twice, and the first one counts.
		answers++
		c.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"result","v":2,"id":"`+cmd.ID+`","data":{"tabId":7}}`))
		return &wire.Result{ID: cmd.ID, Data: []byte(`{"tabId":8}`)}
	})
	checkWorks(t, conn)
	checkWorks(t, conn)
	if n := strings.Count(log.String(), "level=WARN msg=\"malformed message from the extension"); n != 1 {
		t.Errorf("%d warnings about malformed messages, want 1", n)
	}
	c.send(&wire.Ping{TS: 5}) // the connection still works
	if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "end of the connection", conn.Done())
}

// TestLargeMessages checks that the limit of handshake messages does not apply after the handshake.
func TestLargeMessages(t *testing.T) {
	s, dir, _ := start(t)
	c := connect(t, s, "a", wire.KeyToken, token(t, s, dir))
	const size = 2 << 20
	c.answer(func(cmd *wire.Command) wire.Message {
		return &wire.Result{ID: cmd.ID, Data: []byte(`{"data":"` + strings.Repeat("x", size) + `"}`)}
	})
	var got struct{ Data string }
	if err := waitConn(t, s, "a").Call(await.Context(t), wire.MethodCDP, nil, &got); err != nil || len(got.Data) != size {
		t.Errorf("%d bytes, %v", len(got.Data), err)
	}
}

// TestMessageFlood checks that an authenticated connection that sends too much does not affect others
// and does not fill the log.
func TestMessageFlood(t *testing.T) {
	s, dir, log := start(t)
	key := token(t, s, dir)
	extension := connect(t, s, "real", wire.KeyToken, key)
	extension.answer(echo)
	conn := waitConn(t, s, "real")
	flooder := connect(t, s, "flooder", wire.KeyToken, key)
	for range 1_000 {
		flooder.sendText("junk")
		flooder.sendText(`{"type":"result","v":2,"id":"` + wire.NewID() + `","data":{}}`)
		flooder.sendText(`{"type":"event","v":2,"event":"no_such_event","data":{}}`)
		flooder.sendText(`{"type":"ping","v":2,"ts":1}`)
	}
	checkWorks(t, conn)
	checkWorks(t, conn)
	if n := strings.Count(log.String(), "level=WARN"); n > 2 {
		t.Errorf("%d warnings", n)
	}

	// A message that is too long ends its own connection.
	flooded := waitConn(t, s, "flooder")
	go flooder.ws.Write(t.Context(), websocket.MessageText, make([]byte, wire.MaxMessage+1))
	await.Receive(t, "end of the connection", flooded.Done())
	wantContains(t, flooded.Err().Error(), "too long")
	wantContains(t, log.String(), "level=WARN msg=\"message too long\"")
	checkWorks(t, conn)
}
