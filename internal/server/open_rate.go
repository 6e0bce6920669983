package server

import (
	"cmp"
	"maps"

	"golang.org/x/time/rate"
)

// openingsPerMinute is the rate at which the owner of a token can open workspaces after the first ones.
// Each opening adds entries to the audit log, and resets the limits of the workspace, such as that of
// calls.
const openingsPerMinute = 10

// openings limit the rate at which the owners of tokens open workspaces, by name. The zero value is
// ready to use.
type openings map[string]*rate.Limiter

// allow reports whether p may open a workspace now, and counts it.
func (o *openings) allow(p *Principal) bool {
	if !p.hasToken() {
		return true
	}
	limit := (*o)[p.Name]
	if limit == nil {
		// The limiters of principals that opened no workspace recently are not needed.
		maps.DeleteFunc(*o, func(_ string, l *rate.Limiter) bool { return l.Tokens() >= float64(l.Burst()) })
		limit = rate.NewLimiter(openingsPerMinute/60.0,
			max(cmp.Or(p.MaxSessions, defaultPrincipalSessions), defaultPrincipalSessions))
		if *o == nil {
			*o = openings{}
		}
		(*o)[p.Name] = limit
	}
	return limit.Allow()
}
