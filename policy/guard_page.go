package policy

import (
	"context"
	"log/slog"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Wrap returns an Executor that forwards to next the calls that the policy allows. The backend of
// next must use the Guard as its Gate. Wrap adds these checks:
//
//   - If the policy allows no site, only Tabs, Ready, Ping, Status and Close are allowed, so
//     that no browser is started, unless the user can be prompted about the call
//     ([Guard.WithCall]).
//   - Click, Type, Press, Hover, Drag, Mouse, SelectOption, FillForm and accepting a
//     dialog need Config.Mutations. Eval, CDP and WaitFor with an expression need Config.Eval.
//     Download and SavePDF need Config.Downloads. Upload needs Config.Mutations and
//     Config.UploadsDir. Cookies and Items with values, SetCookie, DeleteCookies, SetItem and
//     RemoveItems need Config.Storage. SaveState and LoadState need Config.StateDir.
//   - A URL in the arguments must be allowed by [Policy.CheckURL], and is forwarded in the form
//     that CheckURL returns.
//   - A result of a denied page is not returned: the call returns ErrPolicyDenied, or the denied
//     part of the result is redacted (in Tabs and executor.Changes).
//   - Status returns the policy.
//
// The result is also an executor.PermissionGranter, an executor.PolicyReporter and an
// executor.Watcher. Closing it closes next.
func (g *Guard) Wrap(next executor.Executor) executor.Executor {
	return &guarded{guard: g, next: next}
}

// guarded is the Executor that Wrap returns, and guardedPage is its Page. Each role of a page has
// its own file. Both embed nothing, so that a new method of an interface does not compile until its
// checks are written.
type guarded struct {
	guard *Guard
	next  executor.Executor
}

type guardedPage struct {
	x    *guarded
	next executor.Page
	tab  executor.TabID // of next
}

var (
	_ executor.Executor          = (*guarded)(nil)
	_ executor.PermissionGranter = (*guarded)(nil)
	_ executor.PolicyReporter    = (*guarded)(nil)
	_ executor.Page              = (*guardedPage)(nil)
)

// checkCall checks a call without its arguments: the policy must allow at least one site, and must
// grant what the call needs.
func (g *guarded) checkCall(ctx context.Context, op string, tab executor.TabID, needs ...grant) error {
	p := g.guard.policyForCall(ctx)
	if p.allowsNoSite() && !promptsUser(ctx) { // otherwise the gate reports the site to prompt for
		return g.denialError(ctx, op, tab, "", deniedEmpty())
	}
	for _, n := range needs {
		if !p.granted(n) {
			return g.denialError(ctx, op, tab, "", deniedGrant(n))
		}
	}
	return nil
}

// checkURL checks a URL in a call's arguments and returns the form to forward.
func (g *guarded) checkURL(ctx context.Context, op string, tab executor.TabID, raw string) (string, error) {
	u, err := g.guard.policyForCall(ctx).CheckURL(raw)
	if err != nil {
		return "", g.denialError(ctx, op, tab, raw, err)
	}
	return u, nil
}

// checkOrigin checks the origin that a result was read from.
func (g *guarded) checkOrigin(ctx context.Context, op string, tab executor.TabID, origin string) error {
	if err := g.guard.policyForCall(ctx).checkOriginOnly(origin); err != nil {
		return g.denialError(ctx, op, tab, origin, err)
	}
	return nil
}

// denialError logs and reports err, and returns it as an error of operation op. where is the URL or
// the origin that err is about, or "".
func (g *guarded) denialError(ctx context.Context, op string, tab executor.TabID, where string, err error) error {
	g.guard.reportDecision(ctx, executor.Access{Tab: tab, Op: executor.Operation(op), Destination: where}, err)
	g.guard.logDenial(ctx, slog.LevelInfo, op, tab, err)
	return executor.Wrap(op, tab, err)
}

// isHidden reports whether the policy denies a page at url, which is as the browser serializes it.
func (g *guarded) isHidden(ctx context.Context, url string) bool {
	return url == executor.DeniedURL || g.guard.policyForCall(ctx).checkSerializedURL(url) != nil
}

func (g *guarded) Ready(ctx context.Context) error { return g.next.Ready(ctx) }

func (g *guarded) Ping(ctx context.Context) error { return g.next.Ping(ctx) }

// Status adds the policy.
func (g *guarded) Status(ctx context.Context) executor.Status {
	s := g.next.Status(ctx)
	s.Policy = g.PolicyStatus(ctx)
	return s
}

// PolicyStatus implements executor.PolicyReporter.
func (g *guarded) PolicyStatus(ctx context.Context) *executor.PolicyStatus {
	return g.guard.PolicyStatus(ctx)
}

func (g *guarded) Close() error { return g.next.Close() }

// HandOver needs no grant: the user acts, and the client reads the URL and title afterwards.
func (p *guardedPage) HandOver(ctx context.Context) (*executor.HandedOver, error) {
	if err := p.x.checkCall(ctx, "hand_over", p.tab); err != nil {
		return nil, err
	}
	h, err := p.next.HandOver(ctx)
	if h == nil {
		return nil, err
	}
	if denied := p.x.checkOrigin(ctx, "hand_over", p.tab, h.Origin); denied != nil {
		h.End()
		return nil, denied
	}
	return h, err
}

// CDP needs the eval grant: a raw command can do everything that a script can.
func (p *guardedPage) CDP(ctx context.Context, method string, params any) (executor.RawJSON, error) {
	if err := p.x.checkCall(ctx, "cdp", p.tab, grantEval); err != nil {
		return nil, err
	}
	return p.next.CDP(ctx, method, params)
}
