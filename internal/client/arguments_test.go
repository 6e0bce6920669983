package client

import (
	"encoding/json"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// TestToolArguments checks that the arguments of a tool reach the server as they were written.
func TestToolArguments(t *testing.T) {
	tool, ok := mcp.FindTool("scroll")
	if !ok {
		t.Fatal("no scroll")
	}
	for _, tt := range []struct {
		words []string
		want  string // empty means an error
	}{
		{[]string{`{"deltaY":9007199254740993,"deltaY":1}`}, `{"deltaY":9007199254740993,"deltaY":1}`},
		{[]string{`{"ref":"e1"}`}, `{"ref":"e1"}`},
		{[]string{`{"ref":"e1"} x`}, ""},
		{[]string{`{"ref"}`}, ""},
		{[]string{"deltaY=9007199254740993"}, `{"deltaY":9007199254740993}`},
		{[]string{"deltaY=x"}, ""},
		{[]string{`ref:="e1"`, "selector=5"}, `{"ref":"e1","selector":"5"}`},
		{nil, "{}"},
	} {
		args, err := toolArguments(tool, tt.words)
		raw, marshalErr := json.Marshal(args)
		if (err != nil) != (tt.want == "") || marshalErr != nil || err == nil && string(raw) != tt.want {
			t.Errorf("%q: %s, %v, want %s", tt.words, raw, err, tt.want)
		}
	}
}
