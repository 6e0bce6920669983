package policy

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A runtimeGrant is a permission that the user granted at run time.
type runtimeGrant struct {
	executor.Permission
	pattern Pattern     // for PermitSite
	client  string      // to which it applies; empty means every client
	call    *callGrants // the call of a once grant; nil means every call
}

// A callGrants identifies a call for which the user can be prompted. Its policy is that of its client
// plus the once grants of the call, or nil if it has none.
type callGrants struct {
	client string
	policy atomic.Pointer[Policy]
}

type callKey struct{}

// WithCall implements executor.PermissionGranter.
func (g *Guard) WithCall(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, callKey{}, &callGrants{client: client})
}

func callOf(ctx context.Context) *callGrants {
	c, _ := ctx.Value(callKey{}).(*callGrants)
	return c
}

// promptsUser reports whether the user can be prompted about the call of ctx.
func promptsUser(ctx context.Context) bool { return callOf(ctx) != nil }

// policyForCall returns the current policy for the call of ctx. Without a call, the cause is an
// action of a page, which any call can have triggered, so the widest policy applies.
func (g *Guard) policyForCall(ctx context.Context) *Policy {
	c := callOf(ctx)
	if c == nil {
		return g.widestPolicy.Load()
	}
	if own := c.policy.Load(); own != nil {
		return own
	}
	if clients := g.clientPolicies.Load(); clients != nil && (*clients)[c.client] != nil {
		return (*clients)[c.client]
	}
	return g.sessionPolicy.Load()
}

// Grant implements executor.PermissionGranter. A Guard without a policy grants nothing.
func (g *Guard) Grant(ctx context.Context, p executor.Permission, once bool) (revoke func(), err error) {
	added := &runtimeGrant{Permission: p}
	if once {
		added.call = callOf(ctx)
	} else if c := callOf(ctx); c != nil {
		added.client = c.client
	}
	if g.policy == nil || once && added.call == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "", "permission %s has no subject", p.Kind)
	}
	switch p.Kind {
	case executor.PermitSite:
		s, err := parseOrigin(p.Origin)
		if err != nil {
			return nil, err
		}
		if !s.promptable() {
			return nil, executor.Errorf(executor.ErrBadArgs, "", "host %q can only be allowed by configuration", s.host)
		}
		if added.pattern, err = ParsePattern(s.pattern()); err != nil {
			return nil, err
		}
	case executor.PermitMutations, executor.PermitDownloads:
	case executor.PermitClipboard:
		if _, err := parseOrigin(p.Origin); err != nil {
			return nil, err
		}
	default:
		return nil, executor.Errorf(executor.ErrBadArgs, "", "unknown permission %q", p.Kind)
	}
	return g.addGrant(added), nil
}

// Granted reports whether the user has granted a permission at run time, which has not been revoked.
func (g *Guard) Granted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.permitted) > 0
}

// addGrant adds a grant, which applies until revoke is called.
func (g *Guard) addGrant(added *runtimeGrant) (revoke func()) {
	g.change(func() { g.permitted = append(g.permitted, added) })
	return func() {
		g.change(func() {
			if added.call != nil {
				added.call.policy.Store(nil)
			}
			g.permitted = slices.DeleteFunc(slices.Clone(g.permitted), func(p *runtimeGrant) bool { return p == added })
		})
	}
}

// AllowSite allows the site of a URL that the user chose, such as that of an open page, until revoke
// is called. Unlike a grant of [Guard.Grant], it can be private: the user knows the page. AllowSite
// returns ErrBadArgs if no pattern allows the site.
func (g *Guard) AllowSite(u *URL) (revoke func(), err error) {
	pattern, err := ParsePattern(u.Pattern())
	if err != nil || g.policy == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "Choose a page of a website.",
			"the site of the page cannot be allowed")
	}
	return g.addGrant(&runtimeGrant{
		Permission: executor.Permission{Kind: executor.PermitSite, Origin: u.Origin()}, pattern: pattern,
	}), nil
}

// change calls change to update g.permitted, and then updates the current policies.
func (g *Guard) change(change func()) {
	g.mu.Lock()
	change()
	sessionPolicy := g.policy.withGrants(g.permitted,
		func(p *runtimeGrant) bool { return p.call == nil && p.client == "" })
	clients := map[string]*Policy{}
	for _, p := range g.permitted {
		if p.call == nil && p.client != "" && clients[p.client] == nil {
			clients[p.client] = sessionPolicy.withGrants(g.permitted,
				func(other *runtimeGrant) bool { return other.call == nil && other.client == p.client })
		}
	}
	for _, p := range g.permitted {
		if p.call != nil {
			own := cmp.Or(clients[p.call.client], sessionPolicy)
			p.call.policy.Store(own.withGrants(g.permitted, func(other *runtimeGrant) bool { return other.call == p.call }))
		}
	}
	g.sessionPolicy.Store(sessionPolicy)
	g.clientPolicies.Store(&clients)
	g.widestPolicy.Store(sessionPolicy.withGrants(g.permitted,
		func(p *runtimeGrant) bool { return p.call != nil || p.client != "" }))
	g.mu.Unlock()
	if g.changed != nil {
		g.changeMu.Lock() // otherwise the last call could read an outdated policy
		defer g.changeMu.Unlock()
		g.changed()
	}
}

// withGrants returns p extended by the grants that applies selects.
func (p *Policy) withGrants(permitted []*runtimeGrant, applies func(*runtimeGrant) bool) *Policy {
	wide := *p
	wide.allow, wide.config.AllowDomains = slices.Clip(p.allow), slices.Clip(p.config.AllowDomains)
	wide.clipboard = slices.Clip(p.clipboard)
	for _, extra := range permitted {
		if !applies(extra) {
			continue
		}
		switch extra.Kind {
		case executor.PermitSite:
			wide.allow = append(wide.allow, extra.pattern)
			wide.config.AllowDomains = append(wide.config.AllowDomains, extra.pattern.String())
		case executor.PermitMutations:
			wide.config.Mutations = true
		case executor.PermitDownloads:
			wide.config.Downloads = true
		case executor.PermitClipboard:
			wide.clipboard = append(wide.clipboard, extra.Origin)
		}
	}
	return &wide
}

// promptable reports whether the user can be prompted about a site that is not in the allow list:
// one pattern allows exactly this site, and the site is public, judged by its name. From a prompt,
// the user cannot find out who owns a name without a registry or what is at a private address.
func (s site) promptable() bool {
	if s.scheme == "" || s.port == 0 || s.pattern() == "" || s.loopback() {
		return false
	}
	if s.addr.IsValid() {
		return IsPublic(s.addr)
	}
	_, icann := publicsuffix.PublicSuffix(s.host)
	top := s.host[strings.LastIndexByte(s.host, '.')+1:]
	return icann && strings.Contains(s.host, ".") && !reservedTLDs[top]
}

// origin returns the origin of s as a browser serializes it.
func (s site) origin() string { return s.scheme + "://" + s.host + portSuffix(s.scheme, s.port) }

// noSiteAllowedError returns the denial of a document of origin by a policy that allows no site.
func (p *Policy) noSiteAllowedError(origin string) error {
	e := deniedEmpty()
	s, err := parseOrigin(origin)
	if p == nil || err != nil || p.checkBlocked(s, true) != nil || !s.promptable() {
		return e
	}
	e.Missing = &executor.Permission{Kind: executor.PermitSite, Origin: s.origin()}
	return e
}

// WithCall implements executor.PermissionGranter.
func (g *guarded) WithCall(ctx context.Context, client string) context.Context {
	return g.guard.WithCall(ctx, client)
}

// Grant implements executor.PermissionGranter.
func (g *guarded) Grant(ctx context.Context, p executor.Permission, once bool) (func(), error) {
	return g.guard.Grant(ctx, p, once)
}
