package bridge

import (
	"errors"
	"maps"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// TestGivenTabs checks that the native messaging host lists a server of given tabs only for its
// installation, and that another installation, or one that found it in another way, cannot connect.
func TestGivenTabs(t *testing.T) {
	first, dir, _ := start(t)
	_, key := pair(t, first, dir, "chosen")
	opts := first.opts
	opts.Installation = "chosen"
	s, err := New(&opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for installation, want := range map[string]map[int]bool{
		"chosen": {first.Port(): false, s.Port(): true},
		"other":  {first.Port(): false},
		"":       {first.Port(): false},
	} {
		given := map[int]bool{}
		for _, listed := range (&nativeHost{dataDir: &dataDirectory{dir}, extensionID: ourID, installation: installation}).servers() {
			given[listed.Port] = listed.Given
		}
		if !maps.Equal(given, want) {
			t.Errorf("installation %q: listed %v, want %v", installation, given, want)
		}
	}
	connect(t, s, "chosen", wire.KeyToken, token(t, s, dir)).answer(echo)
	for _, other := range []*client{
		{installation: "other", kind: wire.KeyToken, key: token(t, s, dir)},
		{installation: "chosen", kind: wire.KeyPaired, key: key},
	} {
		other.t, other.ws, other.port = t, dial(t, s.Port()), s.Port()
		hello, _ := other.hello()
		other.send(hello)
		other.wantRejected(wire.ReasonNotPaired)
	}

	opts.Port = 0
	if _, err := New(&opts); !errors.Is(err, errs.ErrBadArgs) {
		t.Errorf("with a port that extensions guess: %v", err)
	}
}
