package cdpshare

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestNeutral checks that the neutral form of each setting sets nothing.
func TestNeutral(t *testing.T) {
	for method, c := range neutral {
		if c.Params != nil && !json.Valid(c.Params) {
			t.Errorf("%s: invalid parameters %s", method, c.Params)
		}
		if IsSetting(method) && !isNeutral(c) {
			t.Errorf("%s %s sets something", method, c.Params)
		}
	}
	for params, want := range map[string]bool{
		`{"headers":{}}`: true, `{}`: true, `{"headers":{"a":"b"}}`: false, `[]`: false, ``: false,
	} {
		if got := isNeutral(Command{"Network.setExtraHTTPHeaders", json.RawMessage(params)}); got != want {
			t.Errorf("%q: neutral %v", params, got)
		}
	}
	if isNeutral(Command{"Page.setWebLifecycleState", json.RawMessage(`{"state":"frozen"}`)}) {
		t.Error("a frozen page is neutral")
	}
}

// TestSettings sets the same for two users of a session.
func TestSettings(t *testing.T) {
	var s Settings[string]
	text := func(v *Setting[string]) string {
		if v == nil {
			return "nothing"
		}
		return fmt.Sprintf("%s: %s", v.User, v.Command.Params)
	}
	set := func(user, params, want string) (undo func()) {
		t.Helper()
		send, undo := s.Set(user, Command{"Page.setBypassCSP", json.RawMessage(params)})
		if text(send) != want {
			t.Errorf("%s sets %s: sent %q, want %q", user, params, text(send), want)
		}
		return undo
	}
	end := func(user, domain, want string) {
		t.Helper()
		got := "nothing"
		for _, v := range s.End(user, domain) {
			got = text(v)
		}
		if got != want {
			t.Errorf("end of %s: sent %q, want %q", user, got, want)
		}
	}
	const on, off = `{"enabled":true}`, `{"enabled":false}`
	set("a", off, "a: "+off)
	set("a", on, "a: "+on)
	set("b", off, "nothing")
	set("b", on, "b: "+on)
	set("b", off, "a: "+on)
	end("b", "", "nothing")
	end("a", "Network", "nothing")
	end("a", "Page", "a: "+off)

	// Commands that fail.
	undo := set("a", on, "a: "+on)
	undo()
	end("a", "", "nothing")
	set("a", on, "a: "+on)
	undo = set("a", off, "a: "+off)
	set("b", on, "b: "+on)
	undo()
	end("b", "", "a: "+on)
	undo = set("a", on, "a: "+on)
	set("a", on, "a: "+on)
	undo()
	end("a", "", "a: "+off)
}
