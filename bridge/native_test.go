package bridge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

func native(text string) *bytes.Buffer {
	return bytes.NewBuffer(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
}

func TestServeNative(t *testing.T) {
	s, dir, _ := start(t)
	const origin = "chrome-extension://" + ourID + "/"
	var out bytes.Buffer
	if err := ServeNative(dir, []string{ourID}, origin, native(`{"v":1,"type":"servers"}`), &out); err != nil {
		t.Fatal(err)
	}
	if n := binary.LittleEndian.Uint32(out.Bytes()); int(n) != out.Len()-4 {
		t.Errorf("length %d of %d bytes", n, out.Len())
	}
	var answer struct {
		V       int
		Servers []map[string]any
	}
	if err := json.Unmarshal(out.Bytes()[4:], &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Servers) != 1 || answer.Servers[0]["token"] != record(t, s, dir).Token || answer.Servers[0]["port"] != float64(s.Port()) {
		t.Errorf("answer %s", out.Bytes()[4:])
	}
	for key := range answer.Servers[0] {
		if !strings.Contains(" port token pid name started ", " "+key+" ") {
			t.Errorf("the response contains %s", key)
		}
	}

	secret := record(t, s, dir).Token
	for name, tt := range map[string]struct {
		id, origin string
		in         *bytes.Buffer
		want       string // part of the response; empty means an error and no response
	}{
		"another extension":           {ourID, "chrome-extension://" + otherID + "/", native(`{"v":1,"type":"servers"}`), ""},
		"page":                        {ourID, "https://" + ourID + "/", native(`{"v":1,"type":"servers"}`), ""},
		"no origin":                   {ourID, "", native(`{"v":1,"type":"servers"}`), ""},
		"server of another extension": {otherID, "chrome-extension://" + otherID + "/", native(`{"v":1,"type":"servers"}`), `"servers":[]`},
		"another version":             {ourID, origin, native(`{"v":2,"type":"servers"}`), "version 2"},
		"another request":             {ourID, origin, native(`{"v":1,"type":"token"}`), "unknown request type"},
		"not JSON":                    {ourID, origin, native(`servers`), ""},
		"truncated":                   {ourID, origin, bytes.NewBuffer(native(`{"v":1,"type":"servers"}`).Bytes()[:9]), ""},
		"empty":                       {ourID, origin, &bytes.Buffer{}, ""},
		"length of 4 GiB":             {ourID, origin, bytes.NewBuffer([]byte{0xff, 0xff, 0xff, 0xff}), ""},
		"length of 400 MB":            {ourID, origin, bytes.NewBuffer([]byte{0, 0, 0, 24, '{'}), ""},
	} {
		var out bytes.Buffer
		err := ServeNative(dir, []string{tt.id}, tt.origin, tt.in, &out)
		if (err == nil) != (tt.want != "") || !strings.Contains(out.String(), tt.want) || tt.want == "" && out.Len() > 0 {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
		if strings.Contains(out.String(), secret) || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the response contains the token", name)
		}
	}
}

// TestNativeWatch checks that a running host notifies the extension of changes, and exits with its
// browser.
func TestNativeWatch(t *testing.T) {
	_, dir, _ := start(t)
	requests, in := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ServeNative(dir, []string{ourID}, "chrome-extension://"+ourID+"/", requests, out) }()
	next := func() (m struct {
		Servers []struct{ Port int }
		Changed bool
	}) {
		t.Helper()
		var size uint32
		err := binary.Read(answers, binary.LittleEndian, &size)
		text := make([]byte, size)
		if err == nil {
			_, err = io.ReadFull(answers, text)
		}
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	ask := func(want int) {
		t.Helper()
		in.Write(native(`{"v":1,"type":"servers"}`).Bytes())
		if m := next(); len(m.Servers) != want || m.Changed {
			t.Errorf("answer %+v, want %d servers", m, want)
		}
	}
	ask(1)
	ask(1)
	other, err := New(&Options{DataDir: dir, ExtensionID: ourID, Port: AnyPort})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if m := next(); !m.Changed || m.Servers != nil {
		t.Errorf("a new server: %+v", m)
	}
	ask(2)
	if err := other.Rotate(); err != nil {
		t.Fatal(err)
	}
	if m := next(); !m.Changed {
		t.Errorf("a new token: %+v", m)
	}
	ask(2)
	other.Close()
	if m := next(); !m.Changed {
		t.Errorf("a closed server: %+v", m)
	}
	ask(1)
	in.Close()
	if err := await.Receive(t, "exit of the host with its browser", done); err != nil {
		t.Error(err)
	}
}

// TestStoreID checks that the extension of the store can connect and start the native messaging
// host if its id is set, and only then.
func TestStoreID(t *testing.T) {
	for _, id := range []string{"", otherID} {
		s, err := New(&Options{DataDir: t.TempDir(), ExtensionID: ourID, StoreID: id, Port: AnyPort})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		ids := s.opts.extensionIDs()
		for _, caller := range []string{ourID, otherID} {
			want := caller == ourID || id != ""
			err := ServeNative(s.opts.DataDir, ids, "chrome-extension://"+caller+"/", native(`{"v":1,"type":"servers"}`), io.Discard)
			if (err == nil) != want {
				t.Errorf("store id %q: the native messaging host answers %s: %v, want %t", id, caller, err, want)
			}
			ws, _, err := websocket.Dial(t.Context(), fmt.Sprintf("ws://127.0.0.1:%d/", s.Port()), &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"chrome-extension://" + caller}}})
			if (err == nil) != want {
				t.Errorf("store id %q: %s connects: %v, want %t", id, caller, err, want)
			}
			if err != nil {
				continue
			}
			hello := &wire.Hello{Installation: "i", Nonce: wire.EncodeKey(wire.NewKey()), Key: wire.KeyToken, Ext: wire.Ext{ID: caller, Version: "1", Chrome: "1"}}
			msg, err := wire.Encode(hello)
			if err != nil {
				t.Fatal(err)
			}
			if err := ws.Write(t.Context(), websocket.MessageText, msg); err != nil {
				t.Fatal(err)
			}
			if _, answer, err := ws.Read(t.Context()); err != nil || !strings.Contains(string(answer), `"challenge"`) {
				t.Errorf("store id %q: the hello of %s is answered with %s, %v", id, caller, answer, err)
			}
			ws.CloseNow()
		}
	}
}
