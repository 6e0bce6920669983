package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// readCases returns the test cases in a file of testdata. The extension's tests read some of these
// files too.
func readCases[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%s: %d cases, %v", name, len(cases), err)
	}
	return cases
}

func TestHandshakeVectors(t *testing.T) {
	type vector struct {
		Name, ExtensionID, Instance                                           string
		Port                                                                  int
		Key, NonceC, NonceS, Transcript, ServerMac, ClientMac, NewKey, Sealed string
		PairingString                                                         string
	}
	decode := func(s string) []byte {
		key, err := DecodeKey(s)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	for _, v := range readCases[vector](t, "handshake.json") {
		t.Run(v.Name, func(t *testing.T) {
			key, newKey := decode(v.Key), decode(v.NewKey)
			tr := &Transcript{v.ExtensionID, v.Instance, v.Port, decode(v.NonceC), decode(v.NonceS)}
			if got := base64url.EncodeToString(tr.Bytes()); got != v.Transcript {
				t.Errorf("transcript %s, want %s", got, v.Transcript)
			}
			if got := tr.ServerMAC(key); got != v.ServerMac || !tr.VerifyServer(key, v.ServerMac) {
				t.Errorf("server MAC %s, want %s", got, v.ServerMac)
			}
			if got := tr.ClientMAC(key); got != v.ClientMac || !tr.VerifyClient(key, v.ClientMac) {
				t.Errorf("client MAC %s, want %s", got, v.ClientMac)
			}
			if tr.VerifyClient(key, v.ServerMac) || tr.VerifyServer(key, v.ClientMac) || tr.VerifyClient(newKey, v.ClientMac) && v.Key != v.NewKey {
				t.Error("a MAC of one side is accepted for the other side, or with another key")
			}
			if got := tr.Seal(key, newKey); got != v.Sealed {
				t.Errorf("sealed %s, want %s", got, v.Sealed)
			}
			if got, err := tr.Unseal(key, v.Sealed); err != nil || !bytes.Equal(got, newKey) {
				t.Errorf("unsealed %x, %v", got, err)
			}
			if got := PairingString(v.Port, key); got != v.PairingString {
				t.Errorf("pairing string %s, want %s", got, v.PairingString)
			}
			port, secret, err := ParsePairingString(" " + v.PairingString + "\n")
			if port != v.Port || !bytes.Equal(secret, key) || err != nil {
				t.Errorf("parsed port %d, secret %x, %v", port, secret, err)
			}
		})
	}
}

// TestTranscriptCoversFields checks that each field changes the MAC, and that moving bytes from one
// field to the next does too.
func TestTranscriptCoversFields(t *testing.T) {
	nonces := func(a, b string) ([]byte, []byte) { return []byte(a), []byte(b) }
	base := Transcript{ExtensionID: "ab", Installation: "c", Port: 1}
	base.NonceC, base.NonceS = nonces("x", "yz")
	seen := map[string]bool{base.ServerMAC(NewKey()[:0]): true}
	for i, change := range []func(*Transcript){
		func(t *Transcript) { t.ExtensionID, t.Installation = "a", "bc" },
		func(t *Transcript) { t.Installation = "d" },
		func(t *Transcript) { t.Port = 11 },
		func(t *Transcript) { t.NonceC, t.NonceS = nonces("xy", "z") },
		func(t *Transcript) { t.NonceS = []byte("zz") },
	} {
		tr := base
		change(&tr)
		mac := tr.ServerMAC(nil)
		if seen[mac] {
			t.Errorf("change %d does not change the MAC", i)
		}
		seen[mac] = true
	}
}

func TestParseInvalidPairingString(t *testing.T) {
	good := PairingString(38017, NewKey())
	for _, s := range []string{
		"", "cm1-", "cm2-" + good[4:], good[4:], good + "A", good[:len(good)-1], good + "=",
		good[:20] + "\n" + good[20:], PairingString(0, NewKey()), "CM1-" + good[4:],
	} {
		_, _, err := ParsePairingString(s)
		if err == nil {
			t.Errorf("%q is accepted", s)
		} else if len(s) > 10 && strings.Contains(err.Error(), s[4:]) {
			t.Error("the error contains the string")
		}
	}
}

func TestMessages(t *testing.T) {
	type messageCase struct {
		Name, From, Error string
		Message           json.RawMessage
	}
	covered := map[string]bool{}
	for _, c := range readCases[messageCase](t, "messages.json") {
		m, err := Decode(c.Message)
		if err == nil {
			covered[m.Type()] = true
		}
		t.Run(c.Name, func(t *testing.T) {
			if c.Error != "" {
				if err == nil || !strings.Contains(err.Error(), c.Error) {
					t.Errorf("error %v, want %q", err, c.Error)
				}
				if strings.Contains(c.Error, "version") && !errors.As(err, new(*VersionError)) {
					t.Errorf("%T is not a *VersionError", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range MessageTypes() {
				if row.New().Type() == m.Type() && row.From != c.From {
					t.Errorf("MessageTypes declares sender %s", row.From)
				}
			}
			out, err := Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			json.Unmarshal(c.Message, &want)
			json.Unmarshal(out, &got)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("encoded as %s", out)
			}
		})
	}
	for _, row := range MessageTypes() {
		if !covered[row.New().Type()] {
			t.Errorf("no test case for %s", row.New().Type())
		}
	}
}

// TestDecodeText checks inputs that a JSON test file cannot contain.
func TestDecodeText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "not JSON",
		"hello":                               "not JSON",
		"[]":                                  "not an object",
		"7":                                   "not an object",
		`{"type":"ping","v":2,"ts":1}{}`:      "not JSON",
		`{"type":"ping","v":2,"ts":1,"ts":2}`: `key "ts" twice`,
		`{"type":"ping","v":2,"type":"pong","ts":1}`:                `key "type" twice`,
		`{"type":"ping","v":2,"ts":1,"t\u0073":2}`:                  `key "ts" twice`,
		`{"type":"ping","v":2.0,"ts":1}`:                            "version 2.0",
		"{\"type\":\"ping\",\"v\":2,\"ts\":1,\"\xff\":0}":           "not UTF-8",
		`{"type":"ping","v":2,"ts":123456789012345678901234567890}`: "not a whole number",
		`{"type":"ping","v":` + strings.Repeat("9", 1000) + `}`:     "999…",
		strings.Repeat("[", 100_000):                                "not JSON",
	} {
		m, err := Decode([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.60q) = %v, %v, want error with %q", text, m, err, want)
		} else if len(err.Error()) > 300 {
			t.Errorf("error of %d bytes", len(err.Error()))
		}
	}
	if _, err := Decode([]byte(" {\n\t\"v\" : 2 , \"ts\":5 ,\"type\":\"ping\"} ")); err != nil {
		t.Errorf("white space: %v", err)
	}
}

func TestErrorsContainNoValues(t *testing.T) {
	const secret = "s3cr3t-t0ken"
	for _, text := range []string{
		`{"type":"proof","v":2,"mac":"` + secret + `"}`,
		`{"type":"hello","v":2,"instance":"` + secret + `!","ext":{"id":"","version":"","chrome":""},"nonce":"","key":"boot"}`,
		`{"type":"welcome","v":2,"session":"a","server":{"version":"","pid":"` + secret + `","name":""},"heartbeatMs":1}`,
	} {
		if _, err := Decode([]byte(text)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error %v", err)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	var tab Tab
	if err := Unmarshal([]byte(`{"tabId":1,"targetId":"T","url":"u","title":"t","active":true,"own":false,"index":2,"openerTabId":3,"chosen":1700000000000,"renewable":true}`), &tab); err != nil {
		t.Fatal(err)
	}
	if want := (Tab{1, "T", "u", "t", true, false, 2, 3, 1700000000000, true}); tab != want {
		t.Errorf("got %+v", tab)
	}
	for _, text := range []string{`{"tabId":1}`, `[]`, `null`, `{`, ``} {
		if err := Unmarshal([]byte(text), new(Tab)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestEncodeDoesNotEscapeHTML(t *testing.T) {
	out, err := Encode(&Command{ID: NewID(), Method: "cdp", Params: json.RawMessage(`{"expression":"a<b&&c>d"}`), TimeoutMs: 1})
	if err != nil || !bytes.Contains(out, []byte("a<b&&c>d")) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestTimeouts(t *testing.T) {
	for _, tt := range []struct {
		method string
		params any
		want   string
	}{
		{MethodTabsList, nil, "30s"},
		{MethodCDP, CDPCommand{Method: "Runtime.evaluate"}, "30s"},
		{MethodCDP, CDPCommand{Method: "Page.captureScreenshot"}, "1m0s"},
		{MethodCDP, &CDPCommand{Method: "Page.navigate"}, "1m0s"},
		{MethodConsent, PromptParams{}, "1m0s"},
		{"no_such", nil, "30s"},
	} {
		if got := Timeout(tt.method, tt.params).String(); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.method, tt.params, got, tt.want)
		}
	}
}

func TestIDsSort(t *testing.T) {
	last := ""
	for range 1000 {
		id := NewID()
		if id <= last {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
}

// FuzzDecode checks that encoding and decoding an accepted message does not change it.
func FuzzDecode(f *testing.F) {
	data, err := os.ReadFile("testdata/messages.json")
	if err != nil {
		f.Fatal(err)
	}
	var cases []struct{ Message json.RawMessage }
	if err := json.Unmarshal(data, &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		f.Add([]byte(c.Message))
	}
	f.Add([]byte(`{"type":"ping","v":2,"ts":1,"ts":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		message, err := Decode(data)
		if err != nil {
			return
		}
		out, err := Encode(message)
		if err != nil {
			t.Fatalf("cannot encode %#v: %v", message, err)
		}
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("cannot decode %s: %v", out, err)
		}
		if once, _ := Encode(again); !bytes.Equal(once, out) {
			t.Errorf("%s became %s", out, once)
		}
		// encoding/json, which is lenient, must read the same type.
		var lenient struct{ Type string }
		if err := json.Unmarshal(data, &lenient); err != nil || lenient.Type != message.Type() {
			t.Errorf("%s: encoding/json reads type %q, error %v", data, lenient.Type, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"type":"result","v":2,"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","data":{"data":"` + strings.Repeat("iVBORw0K", 500_000) + `"}}`)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzParsePairingString checks that every accepted string is a result of PairingString.
func FuzzParsePairingString(f *testing.F) {
	f.Add(PairingString(38017, make([]byte, KeySize)))
	f.Add("cm1-")
	f.Fuzz(func(t *testing.T, s string) {
		port, secret, err := ParsePairingString(s)
		if err == nil && PairingString(port, secret) != strings.TrimSpace(s) {
			t.Errorf("%q was parsed as port %d and secret %x", s, port, secret)
		}
	})
}
