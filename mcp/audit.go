package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An auditor records one session's calls. A nil one records nothing.
type auditor struct {
	to      audit.Recorder
	session string // a random name
	// key makes the hashes of arguments. What is typed into a page may be a
	// password or a number that is soon guessed, and a plain hash would tell
	// whoever has the log whether a guess is right. The key is nowhere but here:
	// within a session equal arguments have equal hashes, and that is all that
	// can be learned of them.
	key []byte

	once sync.Once // sets client

	mu     sync.Mutex // guards client
	client string
}

func newAuditor(to audit.Recorder) *auditor {
	if to == nil {
		return nil
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &auditor{to: to, session: strings.ToLower(rand.Text()[:8]), key: key}
}

// maxClient bounds what a client's own name and version take in each line.
const maxClient = 80

// begin records, once, that a client began the session.
func (a *auditor) begin(conn *sdk.ServerSession) {
	if a == nil || conn == nil {
		return
	}
	p := conn.InitializeParams()
	if p == nil || p.ClientInfo == nil {
		return
	}
	a.once.Do(func() {
		client := oneLine(strings.TrimSpace(or(p.ClientInfo.Name, p.ClientInfo.Title) + " " + p.ClientInfo.Version))
		if r := []rune(client); len(r) > maxClient {
			client = string(r[:maxClient]) + "…"
		}
		a.mu.Lock()
		a.client = client
		a.mu.Unlock()
		a.to.Record(audit.Entry{Event: audit.EventSession, Session: a.session, Client: client})
	})
}

func (a *auditor) name() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// ready refuses a call that acts while what it does could not be recorded.
func (a *auditor) ready(t *tool, args any) error {
	if a == nil || t.kind.hints.readOnly && !runsScript(args) {
		return nil
	}
	if a.to.Ready() == nil {
		return nil
	}
	e := executor.Errorf(executor.ErrPolicyDenied,
		"Tell the user, who can see why in the log of chrome-mcp: the disk may be full. Until then only tools that read work.",
		"the audit log cannot be written, and nothing is done unrecorded")
	e.Rule, e.Retryable = "audit-log", true
	return e
}

// runsScript reports whether a call of a tool that reads runs JavaScript of the
// caller's.
func runsScript(args any) bool {
	w, ok := args.(waitForArgs)
	return ok && w.Expression != ""
}

// hash returns the keyed hash of a call's arguments, the same for the same
// arguments however they are written.
func (a *auditor) hash(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) == nil {
		if canonical, err := json.Marshal(v); err == nil { // maps are sorted
			raw = canonical
		}
	}
	h := hmac.New(sha256.New, a.key)
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// A callRecord gathers what one call's entry tells.
type callRecord struct {
	a     *auditor
	start time.Time
	tool  string
	args  json.RawMessage

	mu       sync.Mutex // guards what follows
	allowed  executor.Decision
	weight   int // of allowed
	denied   executor.Decision
	withheld int // how many were denied
}

// record begins the record of a call, and returns the context that it is to
// run with.
func (a *auditor) record(ctx context.Context, t *tool, args json.RawMessage) (context.Context, *callRecord) {
	if a == nil {
		return ctx, nil
	}
	r := &callRecord{a: a, start: time.Now(), tool: t.name, args: args}
	return executor.WithDecisions(ctx, r.decided), r
}

// actedWeight is the weight of what does more than to read or dismiss.
const actedWeight = 3

// decided takes note of a decision. A call is about many documents, its entry
// tells one: the last that it acted on, or else the first that it read.
func (r *callRecord) decided(d executor.Decision) {
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
		r.withheld++
	case weight > r.weight || weight == r.weight && weight == actedWeight:
		r.allowed, r.weight = d, weight
	}
}

// end records the call, which ended with out or err.
func (r *callRecord) end(out result, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	d, withheld, acted := r.allowed, r.withheld, r.weight == actedWeight
	e := audit.Entry{
		Event: audit.EventCall, Session: r.a.session, Client: r.a.name(), Tool: r.tool, Code: "OK",
		Millis: time.Since(r.start).Milliseconds(), Args: r.a.hash(r.args), Withheld: withheld,
	}
	switch {
	case executor.CodeOf(err) == executor.ErrPolicyDenied:
		d = r.denied
		e.Decision, e.Rule, e.Withheld = audit.Denied, executor.RuleOf(err), 0
	case r.weight > 0:
		e.Decision, e.Rule = audit.Allowed, d.Rule
	}
	r.mu.Unlock()
	if err != nil {
		e.Code, e.Acted = string(executor.CodeOf(err)), acted
	}
	e.Tab, e.Origin = string(d.Access.Tab), audit.Origin(d.Access.Origin)
	if d.Access.Destination != "" {
		e.Origin = audit.Origin(d.Access.Destination)
	}
	tab, where := subject(r.args)
	e.Tab, e.Origin = cmp.Or(e.Tab, tab), cmp.Or(e.Origin, audit.Origin(where))
	if err != nil {
		out = nil
	}
	switch out := out.(type) {
	case tabResult:
		e.Tab = string(out.ID)
	case downloaded:
		e.Bytes, e.Backend = out.Bytes, string(out.Backend)
	case printed:
		e.Bytes, e.Backend = out.Bytes, string(out.Backend)
	case uploaded:
		for _, f := range out.Files {
			e.Bytes += f.Bytes
		}
	}
	r.a.to.Record(e)
}

var tabName = regexp.MustCompile(`^(cdp|ext):[a-z0-9]{1,10}:[0-9]{1,10}$`)

// subject returns the tab and the URL that a call names, if its arguments can
// be read: for calls that ended before anything was decided.
func subject(raw json.RawMessage) (tab, where string) {
	var named struct {
		Tab string `json:"tabId"`
		URL string `json:"url"`
	}
	if json.Unmarshal(raw, &named) != nil {
		return "", ""
	}
	if !tabName.MatchString(named.Tab) {
		named.Tab = "" // whatever else is in it is not for the log
	}
	return named.Tab, named.URL
}

// writes reports whether entries can be kept, or none are wanted.
func (a *auditor) writes() bool { return a == nil || a.to.Ready() == nil }
