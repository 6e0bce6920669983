package policy

import (
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestAllowSite checks that a site that the user chose is allowed until the last grant for it is
// revoked, also a private one, and that a page without a site is rejected.
func TestAllowSite(t *testing.T) {
	rules, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := NewGuard(rules, nil)
	const page = "http://localhost:8080/cart"
	allowed := func() bool { return g.Check(t.Context(), executor.Access{Op: executor.OpNavigate, URL: page}) == nil }
	u, err := ParseURL(page)
	if err != nil {
		t.Fatal(err)
	}
	var revokes []func()
	for range 2 {
		revoke, err := g.AllowSite(u)
		if err != nil {
			t.Fatal(err)
		}
		revokes = append(revokes, revoke)
	}
	for i, want := range []bool{true, true, false} {
		if allowed() != want {
			t.Errorf("after %d revocations: allowed is %v", i, !want)
		}
		if i < len(revokes) {
			revokes[i]()
		}
	}
	blank, err := ParseURL("about:blank")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.AllowSite(blank); executor.CodeOf(err) != executor.ErrBadArgs {
		t.Errorf("about:blank: %v", err)
	}
}
