package mcptransport

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestLastLineWithoutNewline(t *testing.T) {
	r := &messageReader{in: bufio.NewReader(strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)), replies: io.Discard}
	if got, err := io.ReadAll(r); err != nil || string(got) != `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzLines checks that for any input, each line that messageReader returns is a message or a batch
// of messages, and each reply is valid JSON.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"{bad", "42", "[]", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `[{"jsonrpc":"2.0","id":1,"method":"x"}]`, "\r\n\n", "{}{}", `{"jsonrpc":"2.0"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var replies strings.Builder
		r := &messageReader{in: bufio.NewReader(strings.NewReader(in)), replies: &replies}
		out, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			var batch []json.RawMessage
			if json.Unmarshal([]byte(line), &batch) != nil {
				batch = []json.RawMessage{json.RawMessage(line)}
			}
			for _, raw := range batch {
				if _, err := jsonrpc.DecodeMessage(raw); err != nil {
					t.Errorf("returned %q: %v", line, err)
				}
			}
		}
		for line := range strings.Lines(replies.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("replied %q", line)
			}
		}
	})
}
