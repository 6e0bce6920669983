package policy

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// A Guard enforces a [Policy] in two places. It is the executor.Gate that a backend queries about
// every document, immediately before it accesses the document. And [Guard.Wrap] wraps the Executor
// that callers use. Both are necessary: the gate knows the actual document of a tab, the wrapper
// knows the arguments of the call.
//
// The permissions that the user grants at run time ([Guard.Grant]) apply to the calls of one client.
type Guard struct {
	policy   *Policy // the configured policy
	log      *slog.Logger
	audit    audit.Recorder // nil means no recorder
	changed  func()         // GuardOptions.OnChange, called with changeMu held; may be nil
	changeMu sync.Mutex

	mu             sync.Mutex // guards permitted; serializes the changes of the policies below
	permitted      []*runtimeGrant
	sessionPolicy  atomic.Pointer[Policy]             // policy plus the grants that are for no single client or call
	clientPolicies atomic.Pointer[map[string]*Policy] // sessionPolicy plus the grants of a client, if it has some
	widestPolicy   atomic.Pointer[Policy]             // policy plus all grants, also those of single clients and calls
}

var (
	_ executor.Gate           = (*Guard)(nil)
	_ executor.PolicyReporter = (*Guard)(nil)
)

// GuardOptions are the options of [NewGuard].
type GuardOptions struct {
	// Logger logs denials at level Info, those of OpList and OpLoad at level Debug. nil discards.
	Logger *slog.Logger
	// Audit records the denials that no call of a client receives, such as those of requests that a page
	// made on its own.
	// Decisions about calls go to the observer in their context, see executor.CallOptions. nil means no
	// recorder.
	Audit audit.Recorder
	// OnChange, if not nil, is called after each change of the run-time grants, for example to send the
	// new policy to the extension. Its calls do not overlap. It must not change the grants.
	OnChange func()
}

// NewGuard returns a Guard for p. A nil p denies everything, and nil opts means the defaults.
func NewGuard(p *Policy, opts *GuardOptions) *Guard {
	o := *cmp.Or(opts, new(GuardOptions))
	g := &Guard{policy: p, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), audit: o.Audit, changed: o.OnChange}
	g.sessionPolicy.Store(p)
	g.widestPolicy.Store(p)
	return g
}

// Policy returns the current policy with all run-time grants. It may be nil, which denies
// everything.
func (g *Guard) Policy() *Policy { return g.widestPolicy.Load() }

// PolicyStatus implements executor.PolicyReporter.
func (g *Guard) PolicyStatus(ctx context.Context) *executor.PolicyStatus {
	return g.policyForCall(ctx).Status()
}

// Check implements executor.Gate.
//
// The document must be allowed by its effective origin. Navigating away from it (OpNavigate),
// dismissing its dialog and closing it (OpDismiss) are also allowed in a tab that the session
// opened, and on an internal page, such as the error page of a denied document. A known destination
// must be allowed in any case. OpEval and OpCDP need the eval grant, OpDownload the downloads
// grant, OpUpload the uploads grant, OpStorage the storage grant, OpState the state grant, and
// OpClipboard the clipboard grant, which can be limited to the origin. OpLoad depends on the
// subresource tier. Acting on an error page of the browser is always denied, see
// executor.Access.CheckErrorPage.
// [Guard.Wrap] checks the mutations grant, because an operation does not distinguish a scroll from
// a click.
func (g *Guard) Check(ctx context.Context, a executor.Access) error {
	err := g.check(ctx, a)
	if err == nil {
		err = a.CheckErrorPage()
	}
	g.reportDecision(ctx, a, err)
	if err != nil {
		level := slog.LevelInfo
		if a.Op == executor.OpList || a.Op == executor.OpLoad {
			level = slog.LevelDebug
		}
		g.logDenial(ctx, level, string(a.Op), a.Tab, err)
	}
	return err
}

// operationGrants are the grants that operations need.
var operationGrants = map[executor.Operation]grant{
	executor.OpEval: grantEval, executor.OpCDP: grantEval, executor.OpUpload: grantUploads,
	executor.OpStorage: grantStorage, executor.OpState: grantState, executor.OpDownload: grantDownloads,
}

func (g *Guard) check(ctx context.Context, a executor.Access) error {
	p := g.policyForCall(ctx)
	if p.allowsNoSite() {
		return p.noSiteAllowedError(a.Origin)
	}
	if needs, ok := operationGrants[a.Op]; ok && !p.granted(needs) {
		return deniedGrant(needs)
	}
	leavable := a.OpenedBySession || a.Origin == executor.OriginInternal
	switch a.Op {
	case executor.OpList, executor.OpRead, executor.OpAct, executor.OpEval, executor.OpCDP, executor.OpUpload:
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpClipboard:
		if err := p.CheckOrigin(a.Origin, a.URL); err != nil {
			return err
		}
		return p.checkClipboard(a.Origin)
	case executor.OpDismiss:
		if leavable {
			return nil
		}
		return p.CheckOrigin(a.Origin, a.URL)
	case executor.OpNavigate, executor.OpDownload, executor.OpStorage, executor.OpState:
		if a.Op != executor.OpNavigate || !leavable {
			if err := p.CheckOrigin(a.Origin, a.URL); err != nil {
				return err
			}
		}
		if a.Destination == "" || a.Op == executor.OpDownload && strings.HasPrefix(a.Destination, "data:") {
			return nil // a data: URL is the allowed document's own content
		}
		return p.checkSerializedURL(a.Destination)
	case executor.OpLoad:
		return p.checkRequest(a.Destination)
	}
	return deny(ruleUnknown, "", "unknown operation %q", a.Op)
}

// logDenial logs a denial. For eval it adds the flag that grants it: the user reads the log, the
// agent does not.
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
