package policy

import (
	"context"
	"log/slog"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Wrap returns an Executor that passes on to next what the policy grants. It
// adds to the Gate, which next's backend must have been given as well:
//
//   - a policy that allows no site refuses every call but ListTabs, Ready,
//     Ping, Status and Close, before a browser is started for it, unless the
//     user can be asked ([Guard.Call]);
//   - Click, Type, Press, Hover, Drag, Mouse, SelectOption, FillForm and accepting a
//     dialog need Config.Mutations; Eval, CDP and WaitFor with an expression
//     Config.Eval; Download and SavePDF Config.Downloads; Upload
//     Config.Mutations and Config.UploadsDir; Cookies and Items with values,
//     SetCookie, DeleteCookies, SetItem and RemoveItems Config.Storage; SaveState
//     and LoadState Config.StateDir;
//   - a URL in the arguments must pass [Policy.CheckURL], and is passed on in
//     the form that it returns;
//   - a result that comes from where the policy does not allow is withheld:
//     the call returns ErrPolicyDenied, or the denied part of the result is
//     blanked (in ListTabs and executor.Changes);
//   - Status has its Policy filled in.
//
// What it returns is an executor.Permitter as well. Closing it closes next.
func (g *Guard) Wrap(next executor.Executor) executor.Executor {
	return &guarded{guard: g, next: next}
}

// guarded is spread over one file for each role. It names every method and
// embeds nothing: a method that the interface gains must not compile until
// someone has thought about how it is guarded.
type guarded struct {
	guard *Guard
	next  executor.Executor
}

var (
	_ executor.Executor  = (*guarded)(nil)
	_ executor.Permitter = (*guarded)(nil)
)

// enter decides on a call by what it is: the policy must allow some site, and
// grant what the call needs.
func (x *guarded) enter(ctx context.Context, op string, tab executor.TabID, needs ...grant) error {
	p := x.guard.policyOf(ctx)
	if p.deniesAll() && !asks(ctx) { // else the gate knows for which site to ask
		return x.denied(ctx, op, tab, "", deniedEmpty())
	}
	for _, n := range needs {
		if !p.granted(n) {
			return x.denied(ctx, op, tab, "", deniedGrant(n))
		}
	}
	return nil
}

// url decides on a URL in a call's arguments and returns the form to pass on.
func (x *guarded) url(ctx context.Context, op string, tab executor.TabID, raw string) (string, error) {
	u, err := x.guard.policyOf(ctx).CheckURL(raw)
	if err != nil {
		return "", x.denied(ctx, op, tab, raw, err)
	}
	return u, nil
}

// from decides on the origin that a result was read from.
func (x *guarded) from(ctx context.Context, op string, tab executor.TabID, origin string) error {
	if err := x.guard.policyOf(ctx).checkOriginOnly(origin); err != nil {
		return x.denied(ctx, op, tab, origin, err)
	}
	return nil
}

// denied logs err and gives it its operation. where is the URL or the origin
// that it is about, empty when it is about neither.
func (x *guarded) denied(ctx context.Context, op string, tab executor.TabID, where string, err error) error {
	x.guard.tell(ctx, executor.Access{Tab: tab, Op: executor.Operation(op), Destination: where}, err)
	x.guard.logDenial(ctx, slog.LevelInfo, op, tab, err)
	return executor.Wrap(op, tab, err)
}

// hides reports whether the policy hides a page at url, in the browser's
// spelling.
func (x *guarded) hides(ctx context.Context, url string) bool {
	return url == executor.DeniedURL || x.guard.policyOf(ctx).checkShown(url) != nil
}

// Ready passes.
func (x *guarded) Ready(ctx context.Context) error { return x.next.Ready(ctx) }

// Ping passes.
func (x *guarded) Ping(ctx context.Context) error { return x.next.Ping(ctx) }

// Status passes and gains the policy.
func (x *guarded) Status(ctx context.Context) executor.Status {
	s := x.next.Status(ctx)
	s.Policy = x.guard.policyOf(ctx).Status()
	return s
}

// Close passes.
func (x *guarded) Close() error { return x.next.Close() }

// CDP needs the eval grant: a raw command can do whatever a script can.
func (x *guarded) CDP(ctx context.Context, tab executor.TabID, method string, params any) (executor.RawJSON, error) {
	if err := x.enter(ctx, "cdp", tab, grantEval); err != nil {
		return nil, err
	}
	return x.next.CDP(ctx, tab, method, params)
}
