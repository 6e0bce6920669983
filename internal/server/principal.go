package server

import (
	"context"
	"math"
)

// A Principal is the owner of a request. Workspaces belong to the principal that opened them, and
// other principals do not see them.
type Principal struct {
	// Name is the unique name of the principal in logs. The operating-system user, who connects
	// over the Unix socket, has the name "".
	Name string
	// Settings are the settings of every workspace of the principal. They are nil for the
	// operating-system user, whose clients send the settings of each workspace.
	Settings Settings
	// MaxSessions limits the open workspaces of the principal. 0 means 16.
	MaxSessions int
	// Metrics allows the principal to read the metrics, which count the calls of all principals.
	Metrics bool

	onSocket bool // its clients connect to the Unix socket
}

// hasToken reports whether p authenticates with a token. The operating-system user does not.
func (p *Principal) hasToken() bool { return p.Settings != nil }

// osUser is the principal of a Unix socket without Tokens. Only the server's own limit applies to its
// workspaces.
var osUser = &Principal{MaxSessions: math.MaxInt}

// principalKey is the context key of the Principal of a request.
type principalKey struct{}

// withPrincipal returns a context for a request of p.
func withPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// principalOf returns the principal of a request. Requests without one come from the
// Unix socket of the operating-system user.
func principalOf(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	return osUser
}
