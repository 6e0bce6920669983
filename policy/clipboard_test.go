package policy

import (
	"errors"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestClipboard checks that the user's clipboard needs the grant, which a prompt gives for one site.
func TestClipboard(t *testing.T) {
	const site, other = "https://good.com", "https://www.good.com:8443"
	conf := Config{AllowDomains: []string{"good.com", "*.good.com:*"}, Mutations: true}
	use := func(g *Guard, origin string) error {
		return g.Check(g.WithCall(t.Context(), ""), executor.Access{Op: executor.OpClipboard, Origin: origin, URL: origin + "/"})
	}
	g := NewGuard(mustNew(t, conf), nil)
	for _, origin := range []string{site, other} {
		e, ok := errors.AsType[*executor.Error](use(g, origin))
		if want := (executor.Permission{Kind: executor.PermitClipboard, Origin: origin}); !ok || e.Code != executor.ErrPolicyDenied || e.Missing == nil || *e.Missing != want {
			t.Errorf("%s: %+v", origin, e)
		}
	}
	if e, ok := errors.AsType[*executor.Error](use(g, "https://denied.com")); !ok || e.Missing == nil || e.Missing.Kind != executor.PermitSite {
		t.Errorf("a denied site: %+v", e)
	}
	revoke, err := g.Grant(t.Context(), executor.Permission{Kind: executor.PermitClipboard, Origin: site}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := use(g, site); err != nil {
		t.Errorf("granted: %v", err)
	}
	if use(g, other) == nil {
		t.Error("the grant applies to another site")
	}
	revoke()
	if use(g, site) == nil {
		t.Error("the grant applies after it was revoked")
	}
	if _, err := g.Grant(t.Context(), executor.Permission{Kind: executor.PermitClipboard}, false); err == nil {
		t.Error("granted without a site")
	}
	conf.Clipboard = true
	if err := use(NewGuard(mustNew(t, conf), nil), other); err != nil {
		t.Errorf("granted by the configuration: %v", err)
	}
}
