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

// SetAudit has r told of denials that no call of a client's hears of: what a
// page tried by itself. Set it before the Guard is used. What is decided on
// calls is told to their context, see executor.WithDecisions.
func (g *Guard) SetAudit(r audit.Recorder) { g.audit = r }

// tell tells of a decision whoever wants to know.
func (g *Guard) tell(ctx context.Context, a executor.Access, err error) {
	if executor.WantsDecisions(ctx) {
		d := executor.Decision{Access: a, Rule: executor.RuleOf(err), Err: err}
		if err == nil {
			d.Rule = g.policyOf(ctx).allowRule(a)
		}
		d.Tell(ctx)
		return
	}
	if err == nil || g.audit == nil {
		return
	}
	switch a.Op {
	case executor.OpList, executor.OpRead, executor.OpDismiss:
		return // that something in sight is not shown is no deed
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

// Network returns the Guard's policy for a browser's network, as
// chromium.Options and extension.Options take it. It decides as the policy does,
// with all that is permitted while it is asked, to whichever call, and has
// denials told to SetAudit's Recorder.
func (g *Guard) Network() *Network { return &Network{g} }

// A Network decides on connections, see [Guard.Network]. Its methods are those
// of a [Policy]'s.
type Network struct{ guard *Guard }

// CheckHost decides as [Policy.CheckHost] does.
func (n *Network) CheckHost(scheme, host string, port int) error {
	return n.told(scheme, host, port, n.guard.Policy().CheckHost(scheme, host, port))
}

// CheckPath decides as [Policy.CheckPath] does.
func (n *Network) CheckPath(scheme, host string, port int, path string) error {
	return n.told(scheme, host, port, n.guard.Policy().CheckPath(scheme, host, port, path))
}

// CheckAddr decides as [Policy.CheckAddr] does.
func (n *Network) CheckAddr(host string, port int, addr netip.Addr) error {
	return n.told("", host, port, n.guard.Policy().CheckAddr(host, port, addr))
}

// CheckDocument decides as [Policy.CheckDocument] does.
func (n *Network) CheckDocument(url string) error {
	return n.guard.Policy().CheckDocument(url)
}

// AddOwnPort closes a port as [Policy.AddOwnPort] does.
func (n *Network) AddOwnPort(port int) {
	if n.guard.policy != nil {
		n.guard.policy.AddOwnPort(port)
	}
}

func (n *Network) told(scheme, host string, port int, err error) error {
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
