package server

import (
	"errors"
	"io"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// TestSocketTokens checks that a client with a token reaches only the session that the server
// opened for its principal, and that one without a valid token reaches nothing.
func TestSocketTokens(t *testing.T) {
	tokens := new(Tokens)
	f := start(t, Options{SocketTokens: tokens})
	ctx := t.Context()
	ann, bob := &Principal{Name: "ann", Settings: Settings{}, MaxSessions: 1}, &Principal{Name: "bob", Settings: Settings{}, MaxSessions: 1}
	f.SetToken(tokens.Add(ann))
	for _, p := range []*Principal{ann, bob} {
		if err := f.server.Open(ctx, p, DefaultSession); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := f.Stream(ctx, DefaultSession)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := io.WriteString(stream, "hello"); err != nil {
		t.Fatal(err)
	}
	echo := make([]byte, 5)
	if _, err := io.ReadFull(stream, echo); err != nil || string(echo) != "hello" {
		t.Errorf("the stream returned %q, %v", echo, err)
	}
	_, err = f.Sessions(ctx)
	wantError(t, err, errs.ErrPolicyDenied, "does not give access to /v1/sessions")
	_, err = f.Stream(ctx, "other")
	wantError(t, err, errs.ErrPolicyDenied, "does not give access")
	wantError(t, f.Stop(ctx), errs.ErrPolicyDenied, "does not give access")
	wantError(t, f.OpenSession(ctx, DefaultSession, Settings{"--unsafe-all-domains": {"true"}}, false), errs.ErrPolicyDenied, "does not give access")
	wantError(t, f.CloseSession(ctx, DefaultSession), errs.ErrPolicyDenied, "does not give access")

	other := NewClient(SocketPath(f.dir))
	t.Cleanup(other.Close)
	for _, token := range []string{"", "wrong"} {
		other.SetToken(token)
		_, err := other.Stream(ctx, DefaultSession)
		wantError(t, err, errs.ErrPolicyDenied, "no valid token")
		_, err = other.Status(ctx)
		wantError(t, err, errs.ErrPolicyDenied, "no valid token")
	}

	tokens.Remove(ann)
	if err := f.server.Close(ann, DefaultSession, "the chat was closed"); err != nil {
		t.Fatal(err)
	}
	_, err = f.Stream(ctx, DefaultSession)
	wantError(t, err, errs.ErrPolicyDenied, "no valid token")
	if n := f.closed.Load(); n != 1 {
		t.Errorf("%d sessions are closed, want that of ann", n)
	}
	if err := f.server.Close(ann, DefaultSession, "again"); !errors.Is(err, errs.ErrBadArgs) {
		t.Errorf("closing again: %v", err)
	}
}
