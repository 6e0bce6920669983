package policy

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Guard puts a [Policy] in front of a browser, in two places. As an
// executor.Gate it is asked by a backend about every document, at the moment
// the document is touched. Its Wrap stands around the Executor that callers
// use. Both are needed: the gate knows where a tab really is, the wrapper
// knows what was asked for.
//
// It is one client's: what the user permits while it is in use
// ([Guard.Permit]) is permitted to whoever uses it.
type Guard struct {
	policy  *Policy // as it was given
	log     *slog.Logger
	audit   audit.Recorder // nil is none
	changed func()         // called after each change of what is permitted, under telling; nil is nothing
	telling sync.Mutex

	mu        sync.Mutex // guards what follows
	permitted []*permit
	standing  atomic.Pointer[Policy] // policy and what is permitted for good
	widest    atomic.Pointer[Policy] // and what is permitted for one call
}

var _ executor.Gate = (*Guard)(nil)

// NewGuard returns a Guard for p. A nil p denies everything, a nil log
// discards. Denials are logged at level Info, those of a mere listing at
// Debug.
func NewGuard(p *Policy, log *slog.Logger) *Guard {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	g := &Guard{policy: p, log: log}
	g.standing.Store(p)
	g.widest.Store(p)
	return g
}

// Policy returns what is in force now, with all that is permitted; it may be
// nil, which denies everything.
func (g *Guard) Policy() *Policy { return g.widest.Load() }

// Check implements executor.Gate.
//
// The document must be allowed by its effective origin. Leaving one
// (OpNavigate) and dismissing its dialog or closing it (OpDismiss) is also
// allowed for a tab that a session opened itself, and where it is nobody's
// page: the browser's own for one that was refused. A destination must be
// allowed whenever it is known. OpEval and OpCDP need the eval grant,
// OpDownload the one for downloads, OpUpload the one for uploads, OpStorage the one for storage, OpState the one for state files; the grant for mutations is [Guard.Wrap]'s
// affair, since an operation cannot tell a scroll from a click.
func (g *Guard) Check(ctx context.Context, a executor.Access) error {
	err := g.check(ctx, a)
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

func (g *Guard) check(ctx context.Context, a executor.Access) error {
	p := g.policyOf(ctx)
	if p.deniesAll() {
		return p.deniedAll(a.Origin)
	}
	switch a.Op {
	case executor.OpList, executor.OpRead, executor.OpAct:
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpEval, executor.OpCDP:
		if !p.granted(grantEval) {
			return deniedGrant(grantEval)
		}
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpUpload:
		if !p.granted(grantUploads) {
			return deniedGrant(grantUploads)
		}
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpStorage:
		if !p.granted(grantStorage) {
			return deniedGrant(grantStorage)
		}
		if err := p.CheckOrigin(a.Origin, a.URL); err != nil || a.Destination == "" {
			return err
		}
		return p.checkShown(a.Destination)
	case executor.OpState:
		if !p.granted(grantState) {
			return deniedGrant(grantState)
		}
		if err := p.CheckOrigin(a.Origin, a.URL); err != nil || a.Destination == "" {
			return err
		}
		return p.checkShown(a.Destination)
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
