package relay

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestParseRequest checks that invalid messages get the errors of Chromium.
func TestParseRequest(t *testing.T) {
	for data, want := range map[string]int{
		``: codeParse, `x`: codeParse, `{"id":1`: codeParse, "{\"id\":1,\"method\":\"a\x00\"}": codeParse,
		"{\"id\":1,\"method\":\"\xff\"}": codeParse,
		`{}`:                             codeInvalidRequest, `[1]`: codeInvalidRequest, `3`: codeInvalidRequest,
		`{"id":1}`: codeInvalidRequest, `{"id":"1","method":"A.b"}`: codeInvalidRequest,
		`{"id":1.5,"method":"A.b"}`: codeInvalidRequest, `{"id":4294967296,"method":"A.b"}`: codeInvalidRequest,
		`{"id":1,"method":2}`: codeInvalidRequest, `{"id":1,"method":"A.b","sessionId":null}`: codeInvalidRequest,
		`{"id":1,"method":"A.b","params":[]}`: codeInvalidRequest, `{"id":1,"method":"A.b","x":1}`: codeInvalidRequest,
		`{"id":1,"method":"A.b"}`: 0, ` {"id":-1.0, "method" : "A.b" , "sessionId":"s","params" : null } `: 0,
		`{"id":1,"method":"A.b","params":{"a":[{"}":"]\""}]}}`: 0,
	} {
		_, bad := parseRequest([]byte(data))
		got := 0
		if bad != nil {
			got = bad.Code
		}
		if got != want {
			t.Errorf("%s: code %d, want %d", data, got, want)
		}
	}
	r, bad := parseRequest([]byte(`{"id":905.0,"m\u0065thod":"A.b","sessionId":"s","params":{"x":"}"} }`))
	if bad != nil || r.id != 905 || r.method != "A.b" || r.sessionID != "s" || string(r.params) != `{"x":"}"}` {
		t.Errorf("%+v %v", r, bad)
	}
}

// FuzzMembers compares members with encoding/json.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":{"c":[1,"}"]},"d":"\"","e\u0061":null}`, `{}`, `[{"a":1}]`, ` { "a" : [ ] , "b" : true } `, `{"a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := map[string]json.RawMessage{}
		members([]byte(s), func(key, value []byte) bool {
			got[string(key)] = value
			return true
		})
		var want map[string]json.RawMessage
		if !json.Valid([]byte(s)) || json.Unmarshal([]byte(s), &want) != nil {
			return // it must not panic
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
		for key, value := range got {
			var a, b any
			if json.Unmarshal(value, &a) != nil || json.Unmarshal(want[key], &b) != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("%q: %q: %s, want %s", s, key, value, want[key])
			}
		}
	})
}

func TestAppendMessage(t *testing.T) {
	for want, m := range map[string]executor.CDPMessage{
		`{"id":3,"result":{}}`:                               {ID: 3},
		`{"id":3,"result":{"a":1},"sessionId":"s"}`:          {ID: 3, SessionID: "s", Result: json.RawMessage(`{"a":1}`)},
		`{"id":3,"error":{"code":-1,"message":"\"no\""}}`:    {ID: 3, Error: &executor.CDPError{Code: -1, Message: `"no"`}},
		`{"method":"A.b","params":{},"sessionId":"s\"<\\n"}`: {Method: "A.b", SessionID: "s\"<\\n"},
	} {
		if got := string(appendMessage(nil, m)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
