package policy

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

func sitePermission(origin string) executor.Permission {
	return executor.Permission{Kind: executor.PermitSite, Origin: origin}
}

// guardTest checks the decisions of a Guard.
type guardTest struct {
	*testing.T
	*Guard
}

// reads checks whether the call of ctx may read an origin.
func (g guardTest) reads(ctx context.Context, what, origin string, want bool) {
	g.Helper()
	if err := g.Check(ctx, executor.Access{Op: executor.OpRead, Origin: origin, URL: origin + "/"}); (err == nil) != want {
		g.Errorf("%s: reading %s: %v", what, origin, err)
	}
}

// loads checks whether the browser may load a document of a host.
func (g guardTest) loads(what, host string, want bool) {
	g.Helper()
	n := g.Network()
	for name, err := range map[string]error{
		"host": n.CheckHost("", host, 443), "document": n.CheckDocument("https://" + host + "/"),
		"address": n.CheckAddr(host, 443, netip.MustParseAddr("93.184.216.34")),
	} {
		if name == "address" && !want { // CheckHost denied the host before
			continue
		}
		if (err == nil) != want {
			g.Errorf("%s: the network's %s: %v", what, name, err)
		}
	}
}

func TestSessionGrant(t *testing.T) {
	const site, other = "https://asked.example.com", "https://www.asked.example.com"
	for _, conf := range []Config{{Subresources: SubresourcesSame}, {AllowDomains: []string{"good.com"}, Subresources: SubresourcesSame}} {
		changes := 0
		g := guardTest{t, NewGuard(mustNew(t, conf), &GuardOptions{OnChange: func() { changes++ }})}
		ctx := g.WithCall(t.Context(), "")
		revoke, err := g.Grant(ctx, sitePermission(site), false)
		if err != nil {
			t.Fatal(err)
		}
		for what, ctx := range map[string]context.Context{"the call": ctx, "another call": g.WithCall(t.Context(), ""), "no call": t.Context()} {
			g.reads(ctx, what, site, true)
			for _, no := range []string{other, "http://asked.example.com", "https://asked.example.com:8443", "https://example.com"} {
				g.reads(ctx, what, no, false)
			}
		}
		g.loads("granted", "asked.example.com", true)
		g.loads("not granted", "www.asked.example.com", false)
		if got := g.Policy().Config().AllowDomains; !slices.Contains(got, "asked.example.com") {
			t.Errorf("the policy allows %q", got)
		}
		revoke()
		revoke()
		g.reads(ctx, "revoked", site, false)
		g.loads("revoked", "asked.example.com", false)
		if got := g.Policy().Config().AllowDomains; !slices.Equal(got, conf.AllowDomains) {
			t.Errorf("after revoke, the policy allows %q", got)
		}
		if changes != 3 {
			t.Errorf("OnChange function called %d times, want 3", changes)
		}
	}
}

// TestClientGrant checks that the grant of a client applies to all its calls and to no other client's,
// except in the network, which cannot distinguish clients.
func TestClientGrant(t *testing.T) {
	const site, once = "https://asked.example.com", "https://once.example.com"
	g := guardTest{t, NewGuard(mustNew(t, Config{Subresources: SubresourcesSame}), nil)}
	mine, other := g.WithCall(t.Context(), "a"), g.WithCall(t.Context(), "b")
	revoke, err := g.Grant(mine, sitePermission(site), false)
	if err != nil {
		t.Fatal(err)
	}
	revokeOnce, err := g.Grant(mine, sitePermission(once), true)
	if err != nil {
		t.Fatal(err)
	}
	later := g.WithCall(t.Context(), "a")
	g.reads(mine, "the call", site, true)
	g.reads(mine, "the call", once, true)
	g.reads(later, "a later call of the client", site, true)
	g.reads(later, "a later call of the client", once, false)
	for _, site := range []string{site, once} {
		g.reads(other, "another client", site, false)
		g.reads(g.WithCall(t.Context(), ""), "a client without a name", site, false)
	}
	g.loads("granted to a client", "asked.example.com", true)
	revokeOnce()
	g.reads(mine, "after the once grant", site, true)
	revoke()
	g.reads(mine, "revoked", site, false)
	g.loads("revoked", "asked.example.com", false)
}

// TestOnceGrant checks that a once grant applies only to its call, except in the network, which
// cannot distinguish calls.
func TestOnceGrant(t *testing.T) {
	const site = "https://asked.example.com"
	g := guardTest{t, NewGuard(mustNew(t, Config{Subresources: SubresourcesSame}), nil)}
	mine, others := g.WithCall(t.Context(), ""), g.WithCall(t.Context(), "")
	revoke, err := g.Grant(mine, sitePermission(site), true)
	if err != nil {
		t.Fatal(err)
	}
	late := g.WithCall(t.Context(), "")
	g.reads(mine, "the call", site, true)
	g.reads(others, "another call", site, false)
	g.reads(late, "a later call", site, false)
	g.loads("during the call", "asked.example.com", true)
	if _, err := g.Grant(others, executor.Permission{Kind: executor.PermitMutations}, true); err != nil {
		t.Fatal(err)
	}
	x := g.Wrap(&spy{})
	click := func(ctx context.Context) error {
		_, err := pagetest.Of(x, "t").Click(ctx, executor.Target{}, nil)
		return err
	}
	if err := click(others); err == nil { // it may act, but no site is allowed
		if err := g.Check(others, executor.Access{Op: executor.OpAct, Origin: site}); err == nil {
			t.Error("a call has the grants of two calls")
		}
	}
	if err := click(mine); !errors.Is(err, executor.ErrPolicyDenied) {
		t.Errorf("a call uses the grant of another call: %v", err)
	}
	revoke()
	g.reads(mine, "revoked", site, false)
	g.loads("revoked once", "asked.example.com", false)
	if _, err := g.Grant(t.Context(), sitePermission(site), true); !errors.Is(err, executor.ErrBadArgs) {
		t.Errorf("once grant without a call: %v", err)
	}
}

// TestGrantRejectsUngrantable checks that permissions that the user is never prompted for cannot be
// granted, in any notation.
func TestGrantRejectsUngrantable(t *testing.T) {
	g := guardTest{t, NewGuard(mustNew(t, Config{BlockDomains: []string{"blocked.com"}}), nil)}
	for _, origin := range []string{
		"", "null", "https://", "file://", "chrome://settings", "https://localhost", "http://a.localhost:3000", "http://127.0.0.1", "http://10.0.0.1",
		"https://[::1]", "https://[fd00::1]", "http://169.254.169.254", "https://intranet", "https://router.local", "https://far.test", "https://x.internal",
		"https://com", "https://co.uk", "https://github.io", "https://*.example.com", "https://EXAMPLE.com", "https://example.com/path", "https://user@example.com",
		"https://bücher.example.com", "https://0x7f000001", "https://example.com:443", "https://nas.lan",
	} {
		if _, err := g.Grant(t.Context(), sitePermission(origin), false); err == nil {
			t.Errorf("%q was granted", origin)
		}
	}
	for _, kind := range []executor.PermissionKind{"", "eval", "all"} {
		if _, err := g.Grant(t.Context(), executor.Permission{Kind: kind}, false); !errors.Is(err, executor.ErrBadArgs) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if _, err := NewGuard(nil, nil).Grant(t.Context(), sitePermission("https://example.com"), false); err == nil {
		t.Error("a Guard without a policy accepted a grant")
	}
	// A grant does not override a block, and the extension store is always denied.
	for _, origin := range []string{"https://www.blocked.com", "https://blocked.com", "https://chromewebstore.google.com"} {
		if _, err := g.Grant(t.Context(), sitePermission(origin), false); err != nil {
			t.Fatal(err)
		}
		g.reads(t.Context(), "blocked", origin, false)
	}
}

// TestMissingPermission checks that a denial names a missing permission exactly if the user can
// grant it and it is sufficient.
func TestMissingPermission(t *testing.T) {
	for _, conf := range []Config{{BlockDomains: []string{"blocked.com"}}, {BlockDomains: []string{"blocked.com"}, AllowDomains: []string{"good.com"}}} {
		g := NewGuard(mustNew(t, conf), nil)
		ctx := g.WithCall(t.Context(), "")
		x := g.Wrap(&spy{})
		for origin, want := range map[string]string{
			"https://asked.example.com": "https://asked.example.com", "http://asked.example.com": "http://asked.example.com",
			"https://asked.example.com:8443": "https://asked.example.com:8443", "https://xn--bcher-kva.example.com": "https://xn--bcher-kva.example.com",
			"https://93.184.216.34": "https://93.184.216.34", "https://blocked.com": "", "https://a.blocked.com": "", "http://10.0.0.1": "", "http://localhost:1": "",
			"https://intranet": "", "https://far.test": "", "https://chromewebstore.google.com": "",
		} {
			_, named := pagetest.Of(x, "t").Navigate(ctx, origin+"/page", nil)
			for how, err := range map[string]error{"url": named, "read": g.Check(ctx, executor.Access{Op: executor.OpRead, Origin: origin, URL: origin + "/"})} {
				e := denied(t, origin, err)
				switch {
				case want == "" && e.Missing != nil:
					t.Errorf("%s, %s: permission %v, want none", how, origin, e.Missing)
				case want != "" && (e.Missing == nil || *e.Missing != sitePermission(want)):
					t.Errorf("%s, %s: missing %v", how, origin, e.Missing)
				}
			}
		}
		if err := g.Check(ctx, executor.Access{Op: executor.OpEval, Origin: "https://good.com"}); denied(t, "eval", err).Missing != nil && conf.AllowDomains != nil {
			t.Error("the denial of eval names a permission")
		}
	}
}
