package record

import (
	"testing"

	"github.com/chromedp/cdproto/runtime"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

func TestPreviewText(t *testing.T) {
	for _, test := range []struct {
		preview, want string
		nested        bool
	}{
		{`{"type":"object","description":"Object","overflow":false,"properties":[{"name":"items","type":"number","value":"3"},{"name":"name","type":"string","value":"cart"}]}`,
			`{items: 3, name: "cart"}`, false},
		{`{"type":"object","description":"Object","overflow":true,"properties":[{"name":"boom","type":"accessor","value":""},{"name":"api","type":"object","value":"Object"}]}`,
			`{boom: (...), api: Object, …}`, true},
		{`{"type":"object","subtype":"map","description":"Map(2)","overflow":true,"properties":[{"name":"size","type":"number","value":"2"}],"entries":[
			{"key":{"type":"string","description":"region","overflow":false,"properties":[]},"value":{"type":"object","description":"Object","overflow":false,"properties":[{"name":"a","type":"number","value":"1"}]}},
			{"key":{"type":"number","description":"1","overflow":false,"properties":[]},"value":{"type":"object","subtype":"null","description":"null","overflow":false,"properties":[]}}]}`,
			`Map(2) {"region" => {a: 1}, 1 => null, …}`, false},
		{`{"type":"object","subtype":"set","description":"Set(1)","overflow":false,"properties":[{"name":"size","type":"number","value":"1"}],"entries":[{"value":{"type":"string","description":"red","overflow":false,"properties":[]}}]}`,
			`Set(1) {"red"}`, false},
		{`{"type":"object","subtype":"array","description":"Array(1)","overflow":false,"properties":[{"name":"0","type":"object","value":"Object","valuePreview":
			{"type":"object","description":"Object","overflow":false,"properties":[{"name":"col","type":"string","value":"cell"}]}}]}`,
			`[{col: "cell"}]`, false},
		{`{"type":"object","subtype":"array","description":"Array(2)","overflow":false,"properties":[{"name":"0","type":"object","value":"Object"},{"name":"1","type":"object","subtype":"null","value":"null"}]}`,
			`[Object, null]`, true},
		{`{"type":"object","subtype":"array","description":"Array(1000)","overflow":true,"properties":[{"name":"0","type":"object","value":"Object"}]}`,
			`[Object, …]`, false},
	} {
		o := &runtime.RemoteObject{Type: "object", ObjectID: "1.1.1", Preview: new(runtime.ObjectPreview)}
		if err := cdpconn.Unmarshal([]byte(test.preview), o.Preview); err != nil {
			t.Fatal(err)
		}
		o.Subtype = runtime.RemoteObjectSubtype(o.Preview.Subtype)
		if got := remoteText(o); got != test.want || isNested(o) != test.nested {
			t.Errorf("got %s, nested %t, want %s, %t", got, isNested(o), test.want, test.nested)
		}
	}
}
