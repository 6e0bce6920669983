package policy

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Guard puts a [Policy] in front of a browser, in two places. As an
// executor.Gate it is asked by a backend about every document, at the moment
// the document is touched. Its Wrap stands around the Executor that callers
// use. Both are needed: the gate knows where a tab really is, the wrapper
// knows what was asked for.
type Guard struct {
	policy *Policy
	log    *slog.Logger
	audit  audit.Recorder // nil is none
}

var _ executor.Gate = (*Guard)(nil)

// NewGuard returns a Guard for p. A nil p denies everything, a nil log
// discards. Denials are logged at level Info, those of a mere listing at
// Debug.
func NewGuard(p *Policy, log *slog.Logger) *Guard {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Guard{policy: p, log: log}
}

// Policy returns the Guard's policy; it may be nil, which denies everything.
func (g *Guard) Policy() *Policy { return g.policy }

// Check implements executor.Gate.
//
// The document must be allowed by its effective origin. Leaving one
// (OpNavigate) and dismissing its dialog or closing it (OpDismiss) is also
// allowed for a tab that a session opened itself, and where it is nobody's
// page: the browser's own for one that was refused. A destination must be
// allowed whenever it is known. OpEval and OpCDP need the eval grant,
// OpDownload the one for downloads; the grant for mutations is [Guard.Wrap]'s
// affair, since an operation cannot tell a scroll from a click.
func (g *Guard) Check(ctx context.Context, a executor.Access) error {
	err := g.check(a)
	g.tell(ctx, a, err)
	if err != nil {
		level := slog.LevelInfo
		if a.Op == executor.OpList {
			level = slog.LevelDebug
		}
		g.logDenial(ctx, level, string(a.Op), a.Tab, err)
	}
	return err
}

func (g *Guard) check(a executor.Access) error {
	p := g.policy
	if p.deniesAll() {
		return deniedEmpty()
	}
	switch a.Op {
	case executor.OpList, executor.OpRead, executor.OpAct:
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpEval, executor.OpCDP:
		if !p.granted(grantEval) {
			return deniedGrant(grantEval)
		}
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpDismiss:
		if a.OwnTab || a.Origin == executor.OriginOurs {
			return nil
		}
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpNavigate:
		if !a.OwnTab && a.Origin != executor.OriginOurs {
			if err := p.CheckOrigin(a.Origin, a.URL); err != nil {
				return err
			}
		}
		if a.Destination != "" {
			return p.checkShown(a.Destination)
		}
		return nil
	case executor.OpDownload:
		if !p.granted(grantDownloads) {
			return deniedGrant(grantDownloads)
		}
		if err := p.CheckOrigin(a.Origin, a.URL); err != nil {
			return err
		}
		if a.Destination == "" || strings.HasPrefix(a.Destination, "data:") {
			return nil // a data: URL is the allowed document's own content
		}
		return p.checkShown(a.Destination)
	}
	return deny(ruleUnknown, "", "operation %q is not known", a.Op)
}

// logDenial tells the user, who reads the log, what the model is not told: by
// which flag each grant is given.
func (g *Guard) logDenial(ctx context.Context, level slog.Level, op string, tab executor.TabID, err error) {
	if !g.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("op", op), slog.String("reason", err.Error())}
	if tab != "" {
		attrs = append(attrs, slog.String("tab", string(tab)))
	}
	var e *executor.Error
	if errors.As(err, &e) {
		attrs[1] = slog.String("reason", e.Message())
	}
	if errors.Is(err, errNoEval) {
		attrs = append(attrs, slog.String("flag", "--unsafe-enable-eval"))
	}
	g.log.LogAttrs(ctx, level, "policy denied", attrs...)
}
