package cdpconn

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// nested returns parameters that consist of n nested containers.
func nested(n int) string {
	return `{"a":` + strings.Repeat("[", n-1) + "1" + strings.Repeat("]", n-1) + "}"
}

// TestCheckParams checks which parameters count as readable by the browser.
func TestCheckParams(t *testing.T) {
	for params, want := range map[string]string{
		"": "", "{}": "", nested(MaxDepth): "", nested(MaxDepth + 1): "levels", nested(9000): "levels",
		`{"a":{"b":[1,[{}]]},"c":[[]]}`: "", strings.Repeat(`[{"a":1},`, MaxDepth/2) + "1" + strings.Repeat("]", MaxDepth/2): "",
		`{"a":1.7976931348623157e308}`: "", `{"a":1e-999}`: "", `{"a":0e999}`: "", `{"a":-0}`: "", `{"a":` + strings.Repeat("1", 308) + `}`: "",
		`{"a":1e999}`: "number", `{"a":-1E400}`: "number", `{"a":[0,1.8e+308 ]}`: "number", `{"a":` + strings.Repeat("1", 310) + `}`: "number",
		`{"a":"1e999"}`: "", `{"1e999":"\\","b":"\"1e999\\\""}`: "", `{"a":"` + strings.Repeat("[", 1000) + `"}`: "",
	} {
		err := checkParams([]byte(params))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", params, err, want)
		}
	}
}

// TestUnreadableParams checks that parameters that Chromium's parser rejects are not sent: it would
// reply without the id of the command.
func TestUnreadableParams(t *testing.T) {
	_, _, clients := newClients(t, 1, func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		if checkParams(cmd.Params) != nil {
			t.Errorf("the browser got %.60s", cmd.Params)
		}
		b.Reply(cmd, "{}")
	})
	client := clients[0]
	for range maxCommands + 1 { // such a command takes no slot
		for _, params := range []string{nested(MaxDepth + 1), `{"a":1e999}`} {
			if err := client.Send(t.Context(), ClientMessage{ID: 7, Method: "A.b", Params: []byte(params)}); err != nil {
				t.Fatal(err)
			}
			if m := receive(t, client); m.ID != 7 || !strings.Contains(string(m.Error), "-32700") {
				t.Fatalf("got %.100v", m)
			}
			err := client.conn.BrowserSession().Call(t.Context(), "A.b", jsonv2.Value(params), nil)
			if errs.CodeOf(err) != errs.ErrBadArgs {
				t.Fatalf("call: %v", err)
			}
		}
	}
	if err := client.Send(t.Context(), ClientMessage{ID: 8, Method: "A.b", Params: []byte(nested(MaxDepth))}); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, client); m.ID != 8 || m.Error != nil {
		t.Errorf("got %.100v", m)
	}
	if n := client.conn.inFlight(); n != 0 {
		t.Errorf("%d commands are pending", n)
	}
}

// TestErrorWithoutID checks that the browser's error about a message that it could not read, which names
// no command, ends no session.
func TestErrorWithoutID(t *testing.T) {
	b, c, clients := newClients(t, 1, nil)
	b.Attach("", "S1", "page")
	page := nextChild(t, c.BrowserSession())
	for page.ID() != "S1" {
		page = nextChild(t, c.BrowserSession())
	}
	for _, session := range []string{"", "S1", "C1"} {
		var m Message
		_, _ = m.Write([]byte(`{"error":{"code":-32700,"message":"JSON: stack limit exceeded at position 351"},"sessionId":"` + session + `"}`))
		msg := new(cdproto.Message)
		if err := m.Decode(msg); err != nil {
			t.Fatal(err)
		}
		b.Send(msg)
	}
	if err := page.Call(t.Context(), "A.b", nil, nil); err != nil {
		t.Error(err)
	}
	if err := clients[0].Send(t.Context(), ClientMessage{ID: 1, Method: "A.b"}); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, clients[0]); m.ID != 1 || m.Error != nil {
		t.Errorf("got %v", m)
	}
}
