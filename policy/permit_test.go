package policy

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

func site1(origin string) executor.Permission {
	return executor.Permission{Kind: executor.PermitSite, Origin: origin}
}

// guarding is a Guard, and what it says to a call.
type guarding struct {
	*testing.T
	*Guard
}

// reads wants reading from an origin to be allowed, or not, to a call.
func (g guarding) reads(ctx context.Context, what, origin string, want bool) {
	g.Helper()
	if err := g.Check(ctx, executor.Access{Op: executor.OpRead, Origin: origin, URL: origin + "/"}); (err == nil) != want {
		g.Errorf("%s: reading %s: %v", what, origin, err)
	}
}

// loads wants the browser to get a document of a host, or not.
func (g guarding) loads(what, host string, want bool) {
	g.Helper()
	n := g.Network()
	for name, err := range map[string]error{
		"host": n.CheckHost("", host, 443), "document": n.CheckDocument("https://" + host + "/"),
		"address": n.CheckAddr(host, 443, netip.MustParseAddr("93.184.216.34")),
	} {
		if name == "address" && !want { // of a host that was refused before
			continue
		}
		if (err == nil) != want {
			g.Errorf("%s: the network's %s: %v", what, name, err)
		}
	}
}

func TestPermitForTheSession(t *testing.T) {
	const asked, other = "https://asked.example.com", "https://www.asked.example.com"
	for _, conf := range []Config{{Subresources: SubresourcesSame}, {AllowDomains: []string{"good.com"}, Subresources: SubresourcesSame}} {
		told := 0
		g := guarding{t, NewGuard(mustNew(t, conf), nil)}
		g.SetChanged(func() { told++ })
		ctx := g.Call(t.Context())
		revoke, err := g.Permit(ctx, site1(asked), false)
		if err != nil {
			t.Fatal(err)
		}
		for what, ctx := range map[string]context.Context{"the call": ctx, "another": g.Call(t.Context()), "a page's doing": t.Context()} {
			g.reads(ctx, what, asked, true)
			for _, no := range []string{other, "http://asked.example.com", "https://asked.example.com:8443", "https://example.com"} {
				g.reads(ctx, what, no, false)
			}
		}
		g.loads("permitted", "asked.example.com", true)
		g.loads("not permitted", "www.asked.example.com", false)
		if got := g.Policy().Config().AllowDomains; !slices.Contains(got, "asked.example.com") {
			t.Errorf("the extension is told of %q", got)
		}
		revoke()
		revoke()
		g.reads(ctx, "revoked", asked, false)
		g.loads("revoked", "asked.example.com", false)
		if got := g.Policy().Config().AllowDomains; !slices.Equal(got, conf.AllowDomains) {
			t.Errorf("what is left is %q", got)
		}
		if told != 3 {
			t.Errorf("told %d times of changes", told)
		}
	}
}

// TestPermitOnce: what is permitted to one call is no other's, but for the
// network, which cannot tell.
func TestPermitOnce(t *testing.T) {
	const asked = "https://asked.example.com"
	g := guarding{t, NewGuard(mustNew(t, Config{Subresources: SubresourcesSame}), nil)}
	mine, others := g.Call(t.Context()), g.Call(t.Context())
	revoke, err := g.Permit(mine, site1(asked), true)
	if err != nil {
		t.Fatal(err)
	}
	late := g.Call(t.Context())
	g.reads(mine, "mine", asked, true)
	g.reads(others, "another's", asked, false)
	g.reads(late, "a later one's", asked, false)
	g.loads("meanwhile", "asked.example.com", true)
	if _, err := g.Permit(others, executor.Permission{Kind: executor.PermitMutations}, true); err != nil {
		t.Fatal(err)
	}
	x := g.Wrap(&spy{})
	click := func(ctx context.Context) error {
		_, err := x.Click(ctx, "t", executor.Target{}, nil)
		return err
	}
	if err := click(others); err == nil { // it may act, and nowhere
		if err := g.Check(others, executor.Access{Op: executor.OpAct, Origin: asked}); err == nil {
			t.Error("two calls have what each was permitted")
		}
	}
	if err := click(mine); !errors.Is(err, executor.ErrPolicyDenied) {
		t.Errorf("a call acts by another's leave: %v", err)
	}
	revoke()
	g.reads(mine, "over", asked, false)
	g.loads("over", "asked.example.com", false)
	if _, err := g.Permit(t.Context(), site1(asked), true); !errors.Is(err, executor.ErrBadArgs) {
		t.Errorf("once, for no call: %v", err)
	}
}

// TestPermitCannot: what is never asked for is never permitted either, however
// it is spelt.
func TestPermitCannot(t *testing.T) {
	g := guarding{t, NewGuard(mustNew(t, Config{BlockDomains: []string{"blocked.com"}}), nil)}
	for _, origin := range []string{
		"", "null", "https://", "file://", "chrome://settings", "https://localhost", "http://a.localhost:3000", "http://127.0.0.1", "http://10.0.0.1",
		"https://[::1]", "https://[fd00::1]", "http://169.254.169.254", "https://intranet", "https://router.local", "https://far.test", "https://x.internal",
		"https://com", "https://co.uk", "https://github.io", "https://*.example.com", "https://EXAMPLE.com", "https://example.com/path", "https://user@example.com",
		"https://bücher.example.com", "https://0x7f000001", "https://example.com:443", "https://nas.lan",
	} {
		if _, err := g.Permit(t.Context(), site1(origin), false); err == nil {
			t.Errorf("%q was permitted", origin)
		}
	}
	for _, kind := range []executor.PermissionKind{"", "eval", "all"} {
		if _, err := g.Permit(t.Context(), executor.Permission{Kind: kind}, false); !errors.Is(err, executor.ErrBadArgs) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if _, err := NewGuard(nil, nil).Permit(t.Context(), site1("https://example.com"), false); err == nil {
		t.Error("a Guard without a policy was widened")
	}
	// A permission does not beat a block, and the store of extensions is closed.
	for _, origin := range []string{"https://www.blocked.com", "https://blocked.com", "https://chromewebstore.google.com"} {
		if _, err := g.Permit(t.Context(), site1(origin), false); err != nil {
			t.Fatal(err)
		}
		g.reads(t.Context(), "blocked", origin, false)
	}
}

// TestMissing: a denial names what the user can permit exactly when that would
// do.
func TestMissing(t *testing.T) {
	for _, conf := range []Config{{BlockDomains: []string{"blocked.com"}}, {BlockDomains: []string{"blocked.com"}, AllowDomains: []string{"good.com"}}} {
		g := NewGuard(mustNew(t, conf), nil)
		ctx := g.Call(t.Context())
		x := g.Wrap(&spy{})
		for origin, want := range map[string]string{
			"https://asked.example.com": "https://asked.example.com", "http://asked.example.com": "http://asked.example.com",
			"https://asked.example.com:8443": "https://asked.example.com:8443", "https://xn--bcher-kva.example.com": "https://xn--bcher-kva.example.com",
			"https://93.184.216.34": "https://93.184.216.34", "https://blocked.com": "", "https://a.blocked.com": "", "http://10.0.0.1": "", "http://localhost:1": "",
			"https://intranet": "", "https://far.test": "", "https://chromewebstore.google.com": "",
		} {
			_, named := x.Navigate(ctx, "t", origin+"/page", nil)
			for how, err := range map[string]error{"named": named, "read": g.Check(ctx, executor.Access{Op: executor.OpRead, Origin: origin, URL: origin + "/"})} {
				e := denied(t, origin, err)
				switch {
				case want == "" && e.Missing != nil:
					t.Errorf("%s, %s: %v could be permitted", how, origin, e.Missing)
				case want != "" && (e.Missing == nil || *e.Missing != site1(want)):
					t.Errorf("%s, %s: missing %v", how, origin, e.Missing)
				}
			}
		}
		if err := g.Check(ctx, executor.Access{Op: executor.OpEval, Origin: "https://good.com"}); denied(t, "eval", err).Missing != nil && conf.AllowDomains != nil {
			t.Error("scripts can be permitted")
		}
	}
}
