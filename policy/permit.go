package policy

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A permit is something that was permitted while a Guard is in use.
type permit struct {
	executor.Permission
	pattern Pattern // of a site
	call    *call   // the only one that it is for; nil is every one
}

// A call is one whose user can be asked. What is permitted to it alone makes
// its policy another one than the Guard's.
type call struct{ policy atomic.Pointer[Policy] }

type callKey struct{}

// Call implements executor.Permitter.
func (g *Guard) Call(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, &call{})
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// asks reports whether the user can be asked about the call of ctx.
func asks(ctx context.Context) bool { return callOf(ctx) != nil }

// policyOf returns what is in force for the call of ctx. What a page does by
// itself has no call, and may be the doing of any.
func (g *Guard) policyOf(ctx context.Context) *Policy {
	c := callOf(ctx)
	if c == nil {
		return g.widest.Load()
	}
	if own := c.policy.Load(); own != nil {
		return own
	}
	return g.standing.Load()
}

// SetChanged has changed called after each change of what is permitted, so
// that whoever was told the policy can be told again; one call of it at a time.
// Set it before the Guard is used.
func (g *Guard) SetChanged(changed func()) { g.changed = changed }

// Permit implements executor.Permitter. A Guard without a policy permits
// nothing.
func (g *Guard) Permit(ctx context.Context, p executor.Permission, once bool) (revoke func(), err error) {
	added := &permit{Permission: p}
	if once {
		added.call = callOf(ctx)
	}
	if g.policy == nil || once && added.call == nil {
		return nil, executor.Errorf(executor.ErrBadArgs, "", "there is nothing to permit %s to", p.Kind)
	}
	switch p.Kind {
	case executor.PermitSite:
		s, err := parseOrigin(p.Origin)
		if err != nil {
			return nil, err
		}
		if !s.askable() {
			return nil, executor.Errorf(executor.ErrBadArgs, "", "host %q can only be allowed at the start", s.host)
		}
		if added.pattern, err = ParsePattern(s.pattern()); err != nil {
			return nil, err
		}
	case executor.PermitMutations, executor.PermitDownloads:
	default:
		return nil, executor.Errorf(executor.ErrBadArgs, "", "%q is no permission", p.Kind)
	}
	g.change(func() { g.permitted = append(g.permitted, added) })
	return func() {
		g.change(func() {
			if added.call != nil {
				added.call.policy.Store(nil)
			}
			g.permitted = slices.DeleteFunc(slices.Clone(g.permitted), func(p *permit) bool { return p == added })
		})
	}, nil
}

// change changes what is permitted, and then what is in force.
func (g *Guard) change(change func()) {
	g.mu.Lock()
	change()
	standing := g.policy.with(g.permitted, nil)
	g.standing.Store(standing)
	widest := standing
	done := map[*call]bool{}
	for _, p := range g.permitted {
		if p.call == nil || done[p.call] {
			continue
		}
		done[p.call] = true
		p.call.policy.Store(standing.with(g.permitted, p.call))
		widest = widest.with(g.permitted, p.call)
	}
	g.widest.Store(widest)
	g.mu.Unlock()
	if g.changed != nil {
		g.telling.Lock() // or the one told last could be told what was before
		defer g.telling.Unlock()
		g.changed()
	}
}

// with returns p widened by those of permitted that are for a call, or for
// every one when it is nil.
func (p *Policy) with(permitted []*permit, c *call) *Policy {
	wide := *p
	wide.allow, wide.config.AllowDomains = slices.Clip(p.allow), slices.Clip(p.config.AllowDomains)
	for _, extra := range permitted {
		if extra.call != c {
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
		}
	}
	return &wide
}

// askable reports whether the user can be asked for a site that is not in the
// allow list: it is exactly what one pattern allows, and public, as far as its
// name tells. Whose a name without a registry is, and what is at a private
// address, nobody can tell from a question.
func (s site) askable() bool {
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

// origin returns the site as a browser writes origins.
func (s site) origin() string { return s.scheme + "://" + s.host + portSuffix(s.scheme, s.port) }

// deniedAll is the denial of a policy that allows no site, of a document at
// origin.
func (p *Policy) deniedAll(origin string) error {
	e := deniedEmpty()
	s, err := parseOrigin(origin)
	if p == nil || err != nil || p.blocked(s, true) != nil || !s.askable() {
		return e
	}
	e.Missing = &executor.Permission{Kind: executor.PermitSite, Origin: s.origin()}
	return e
}

// Call implements executor.Permitter.
func (x *guarded) Call(ctx context.Context) context.Context { return x.guard.Call(ctx) }

// Permit implements executor.Permitter.
func (x *guarded) Permit(ctx context.Context, p executor.Permission, once bool) (func(), error) {
	return x.guard.Permit(ctx, p, once)
}
