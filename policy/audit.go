package policy

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// reportDecision passes a decision to the observer in ctx. Without an observer, it records denials.
func (g *Guard) reportDecision(ctx context.Context, a executor.Access, err error) {
	if executor.CallOptionsOf(ctx).OnDecision != nil {
		d := executor.Decision{Access: a, Rule: executor.RuleOf(err), Err: err}
		if err == nil {
			d.Rule = g.policyForCall(ctx).allowRule(a)
		}
		d.Report(ctx)
		return
	}
	if err == nil || g.audit == nil {
		return
	}
	switch a.Op {
	case executor.OpList, executor.OpRead, executor.OpDismiss, executor.OpLoad:
		return // a denied read is not an action
	}
	where := a.Origin
	if a.Destination != "" {
		where = a.Destination
	}
	g.audit.Record(audit.Entry{
		Event: audit.EventDenied, Tool: string(a.Op), Tab: string(a.Tab), Origin: audit.Origin(where),
		Decision: audit.Denied, Rule: executor.RuleOf(err),
	})
}

// Network returns the Guard's policy for a browser's network, for chromium.Options and
// extension.Options. It applies the current policy with all run-time grants, also those for single
// calls, and records denials with GuardOptions.Audit.
func (g *Guard) Network() *Network { return &Network{g} }

// A Network decides on connections. See [Guard.Network].
type Network struct{ guard *Guard }

// CheckHost is like [Policy.CheckHost].
func (n *Network) CheckHost(scheme, host string, port int) error {
	return n.logged(scheme, host, port, n.guard.Policy().CheckHost(scheme, host, port))
}

// CheckPath is like [Policy.CheckPath].
func (n *Network) CheckPath(scheme, host string, port int, path string) error {
	return n.logged(scheme, host, port, n.guard.Policy().CheckPath(scheme, host, port, path))
}

// CheckAddr is like [Policy.CheckAddr].
func (n *Network) CheckAddr(host string, port int, addr netip.Addr) error {
	return n.logged("", host, port, n.guard.Policy().CheckAddr(host, port, addr))
}

// CheckDocument is like [Policy.CheckDocument], and records no denials.
func (n *Network) CheckDocument(url string) error {
	return n.guard.Policy().CheckDocument(url)
}

// CheckCookies is like [Policy.CheckCookies], and records no denials.
func (n *Network) CheckCookies(scheme, host string) error {
	return n.guard.Policy().CheckCookies(scheme, host)
}

// AddOwnPort is like [Policy.AddOwnPort].
func (n *Network) AddOwnPort(port int) {
	if n.guard.policy != nil {
		n.guard.policy.AddOwnPort(port)
	}
}

// logged records a denial and returns err.
func (n *Network) logged(scheme, host string, port int, err error) error {
	if err == nil || n.guard.audit == nil {
		return err
	}
	origin := net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port))
	if scheme != "" {
		origin = scheme + "://" + origin
	}
	n.guard.audit.Record(audit.Entry{
		Event: audit.EventDenied, Tool: "network", Origin: origin, Decision: audit.Denied, Rule: executor.RuleOf(err),
	})
	return err
}
