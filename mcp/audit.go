package mcp

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An auditor records one session's calls. A nil one records nothing.
type auditor struct {
	to      audit.Recorder
	session string // a random name
	// key is the key of the argument hashes. Text that is typed into a page may be a password or a
	// number that is easy to guess, and an unkeyed hash would let a reader of the log verify
	// guesses. The key exists only in this field. Within a session, equal arguments have equal
	// hashes; the hashes reveal nothing else.
	key []byte

	once sync.Once // records the start of the session
}

func newAuditor(to audit.Recorder) *auditor {
	if to == nil {
		return nil
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &auditor{to: to, session: strings.ToLower(rand.Text()[:8]), key: key}
}

// maxClient is the maximum length of a client's name and version in an entry, in characters.
const maxClient = 80

// auditClient is the context key of the name of the client that made a call.
type auditClient struct{}

// begin returns a context for the requests of a client, whose name may be empty. The first client
// starts the session, which begin records.
func (a *auditor) begin(ctx context.Context, client string) context.Context {
	if client == "" {
		return ctx
	}
	client = pagetext.Truncate(mcptext.OneLine(client), maxClient)
	if a != nil {
		a.once.Do(func() {
			a.to.Record(audit.Entry{Event: audit.EventSession, Session: a.session, Client: client})
		})
	}
	return context.WithValue(ctx, auditClient{}, client)
}

// clientOf returns the name of the client that made the call of ctx.
func clientOf(ctx context.Context) string {
	name, _ := ctx.Value(auditClient{}).(string)
	return name
}

// nameOf returns the name and version of an MCP client, or "" before it sent them.
func nameOf(conn *sdk.ServerSession) string {
	p := initializeParams(conn)
	if p == nil || p.ClientInfo == nil {
		return ""
	}
	return strings.TrimSpace(cmp.Or(p.ClientInfo.Name, p.ClientInfo.Title) + " " + p.ClientInfo.Version)
}

// initializeParams returns what an MCP client sent about itself, or nil before it did.
func initializeParams(conn *sdk.ServerSession) *sdk.InitializeParams {
	if conn == nil {
		return nil
	}
	return conn.InitializeParams()
}

// consentEntry returns the base of the entries about one question to the user.
func (a *auditor) consentEntry(ctx context.Context, tool string, tab executor.TabID, site string) audit.Entry {
	e := audit.Entry{Event: audit.EventConsent, Tool: tool, Tab: string(tab), Origin: audit.Origin(site), Client: clientOf(ctx)}
	if a != nil {
		e.Session = a.session
	}
	return e
}

// The rules of the entries about answers.
const (
	ruleUser   = "user"
	ruleClient = "client" // the client returned the answer; its user may not have seen the question
)

// consent records a question to the user, or the answer, which is a decision. Its rule is that of e,
// or ruleUser.
func (a *auditor) consent(e audit.Entry, decision, detail string) {
	if a == nil {
		return
	}
	e.Decision, e.Detail = decision, detail
	if e.Rule = cmp.Or(e.Rule, ruleUser); decision == "" {
		e.Rule = ""
	}
	a.to.Record(e)
}

// writes reports whether the audit log is writable or disabled.
func (a *auditor) writes() bool { return a == nil || a.to.Ready() == nil }

// checkWritable returns an error for a call that acts while the audit log is not writable.
func (a *auditor) checkWritable(t *tool, args any) error {
	if t.kind.hints.readOnly && !runsScript(args) || a.writes() {
		return nil
	}
	e := executor.Errorf(executor.ErrPolicyDenied,
		"Ask the user to check the log of chrome-mcp; the disk may be full. Until then, only tools that read work.",
		"the audit log is not writable; actions are disabled")
	e.Rule, e.Retryable = "audit-log", true
	return e
}

// runsScript reports whether a call of a read-only tool runs the caller's JavaScript.
func runsScript(args any) bool {
	w, ok := args.(browsertools.WaitForArgs)
	return ok && w.Expression != ""
}

// hash returns the keyed hash of a call's arguments. It does not depend on the order of keys or on
// white space.
func (a *auditor) hash(raw json.RawMessage) string {
	h := hmac.New(sha256.New, a.key)
	h.Write(pagetext.RewriteJSON(raw, func(v any) any { return v })) // with the keys sorted
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// A callRecord collects the data for the audit entry of one call.
type callRecord struct {
	a      *auditor
	client string
	start  time.Time
	tool   *tool
	args   json.RawMessage
	named  namedArgs

	mu          sync.Mutex // guards the fields below
	allowed     executor.Decision
	weight      int // of allowed
	denied      executor.Decision
	deniedParts int // number of denials
}

// record starts the record of a call and returns the context that the call must use. The decisions
// about a call within another call are also in the record of that call.
func (a *auditor) record(ctx context.Context, t *tool, args json.RawMessage, named namedArgs) (context.Context, *callRecord) {
	if a == nil {
		return ctx, nil
	}
	r := &callRecord{a: a, client: clientOf(ctx), start: time.Now(), tool: t, args: args, named: named}
	return executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(d executor.Decision) {
		r.observe(d)
		d.Report(ctx)
	}}), r
}

// actedWeight is the weight of operations other than list, read and dismiss.
const actedWeight = 3

// observe records a decision. A call can access many documents, but its entry names one: the last
// that it acted on, or otherwise the first that it read.
func (r *callRecord) observe(d executor.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	weight := actedWeight
	switch d.Access.Op {
	case executor.OpList:
		return
	case executor.OpRead:
		weight = 1
	case executor.OpDismiss:
		weight = 2
	}
	switch {
	case d.Err != nil:
		r.denied = d
		r.deniedParts++
	case weight > r.weight || weight == r.weight && weight == actedWeight:
		r.allowed, r.weight = d, weight
	}
}

// end writes the entry of the call, which returned out or err.
func (r *callRecord) end(out mcptext.Result, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	d, deniedParts, acted := r.allowed, r.deniedParts, r.weight == actedWeight
	e := audit.Entry{
		Event: audit.EventCall, Session: r.a.session, Client: r.client, Tool: r.tool.name, Code: "OK",
		DurationMS: time.Since(r.start).Milliseconds(), Args: r.a.hash(r.args), DeniedParts: deniedParts,
	}
	switch {
	case executor.CodeOf(err) == executor.ErrPolicyDenied:
		d = r.denied
		e.Decision, e.Rule, e.DeniedParts = audit.Denied, executor.RuleOf(err), 0
	case r.weight > 0:
		e.Decision, e.Rule = audit.Allowed, d.Rule
	}
	r.mu.Unlock()
	switch {
	case err != nil:
		e.Code, e.Acted = string(executor.CodeOf(err)), acted
	case e.Decision == "":
		e.Acted = r.tool.actsWithoutDecision()
	}
	e.Tab, e.Origin = string(d.Access.Tab), audit.Origin(d.Access.Origin)
	if d.Access.Destination != "" {
		e.Origin = audit.Origin(d.Access.Destination)
	}
	e.Tab, e.Origin = cmp.Or(e.Tab, r.named.Tab), cmp.Or(e.Origin, audit.Origin(r.named.URL))
	if err != nil {
		out = nil
	}
	switch out := out.(type) {
	case browsertools.TabResult:
		e.Tab = string(out.ID)
	case fileResult:
		e.Bytes = out.bytes
	case browsertools.DownloadResult:
		e.Bytes, e.Backend = out.Bytes, string(out.Backend)
	case browsertools.PDFResult:
		e.Bytes, e.Backend = out.Bytes, string(out.Backend)
	case browsertools.UploadResult:
		for _, f := range out.Files {
			e.Bytes += f.Bytes
		}
	}
	r.a.to.Record(e)
}

// actsWithoutDecision reports whether a successful call of t for which the policy decided nothing, such
// as one that opened a blank tab, had an effect. Selecting a tab affects only the session, and the
// calls of a batch have their own entries.
func (t *tool) actsWithoutDecision() bool {
	return !t.kind.hints.readOnly && t.kind != batches && t.name != "tab_select"
}

var tabName = lazyregexp.New(`^(cdp|ext):[a-z0-9]{1,10}:[0-9]{1,10}$`)

// namedArgs are the arguments that say what a call is about. Entries use them if the call ended before
// a policy decision.
type namedArgs struct {
	Tab      string `json:"tabId"`
	URL      string `json:"url"`
	Selector string `json:"selector"`
	Ref      string `json:"ref"`
}

// namedArgsOf returns the namedArgs of a call. Those that are of another type are empty.
func namedArgsOf(raw json.RawMessage) (named namedArgs) {
	_ = json.Unmarshal(raw, &named)
	if !tabName().MatchString(named.Tab) {
		named.Tab = "" // do not log arbitrary text
	}
	return named
}
