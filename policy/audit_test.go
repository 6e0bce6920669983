package policy

import (
	"context"
	"net/netip"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

type entries []audit.Entry

func (e *entries) Ready() error             { return nil }
func (e *entries) Record(entry audit.Entry) { *e = append(*e, entry) }

// TestRuleNames checks the name of each rule in decisions and errors.
func TestRuleNames(t *testing.T) {
	const good, evil = "https://example.com", "https://evil.com"
	conf := Config{AllowDomains: []string{"example.com", "*.example.org", "127.0.0.1", "blocked.example.com"}, BlockDomains: []string{"blocked.example.com"}, OwnPorts: []int{38017}}
	g := NewGuard(mustNew(t, conf), nil)
	conf.AllDomains = true
	all := NewGuard(mustNew(t, conf), nil)
	for _, tt := range []struct {
		name   string
		guard  *Guard
		access executor.Access
		rule   string
	}{
		{"listed", g, executor.Access{Op: executor.OpRead, Origin: good, URL: good + "/"}, "allow:example.com"},
		{"listed by subdomain", g, executor.Access{Op: executor.OpAct, Origin: "https://a.example.org", URL: "https://a.example.org/"}, "allow:*.example.org"},
		{"destination", g, executor.Access{Op: executor.OpNavigate, Origin: good, URL: good + "/", Destination: "http://127.0.0.1:8080/x"}, "allow:127.0.0.1"},
		{"blob", g, executor.Access{Op: executor.OpRead, Origin: good, URL: "blob:" + good + "/1-2"}, "allow:example.com"},
		{"all domains", all, executor.Access{Op: executor.OpRead, Origin: evil, URL: evil + "/"}, "all-domains"},
		{"blank", g, executor.Access{Op: executor.OpRead, URL: "about:blank"}, "own-page"},
		{"to blank", g, executor.Access{Op: executor.OpNavigate, Origin: good, URL: good + "/", Destination: "about:blank"}, "own-page"},
		{"navigate own tab", g, executor.Access{Op: executor.OpNavigate, Origin: evil, URL: evil + "/", OpenedBySession: true}, "own-tab"},
		{"dismiss", g, executor.Access{Op: executor.OpDismiss, Origin: evil, URL: evil + "/", OpenedBySession: true}, "own-tab"},
		{"unlisted", g, executor.Access{Op: executor.OpRead, Origin: evil, URL: evil + "/"}, "unlisted"},
		{"blocked", g, executor.Access{Op: executor.OpRead, Origin: "https://blocked.example.com", URL: "https://blocked.example.com/"}, "block:blocked.example.com"},
		{"opaque", g, executor.Access{Op: executor.OpRead, Origin: "null", URL: "data:,x"}, "opaque-origin"},
		{"scheme", g, executor.Access{Op: executor.OpNavigate, Origin: good, URL: good + "/", Destination: "file:///etc/passwd"}, "scheme"},
		{"own port", g, executor.Access{Op: executor.OpNavigate, Origin: good, URL: good + "/", Destination: "http://127.0.0.1:38017/"}, "own-port"},
		{"metadata", all, executor.Access{Op: executor.OpNavigate, Origin: good, URL: good + "/", Destination: "http://169.254.169.254/"}, "builtin"},
		{"private", all, executor.Access{Op: executor.OpNavigate, Origin: good, URL: good + "/", Destination: "http://10.0.0.1/"}, "private-address"},
		{"eval", g, executor.Access{Op: executor.OpEval, Origin: good, URL: good + "/"}, "no-grant:eval"},
		{"download", g, executor.Access{Op: executor.OpDownload, Origin: good, URL: good + "/"}, "no-grant:downloads"},
		{"no policy", NewGuard(nil, nil), executor.Access{Op: executor.OpRead, Origin: good, URL: good + "/"}, "nothing-allowed"},
	} {
		var decisions []executor.Decision
		ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{OnDecision: func(d executor.Decision) { decisions = append(decisions, d) }})
		err := tt.guard.Check(ctx, tt.access)
		if len(decisions) != 1 || decisions[0].Rule != tt.rule || decisions[0].Access != tt.access || decisions[0].Err != err {
			t.Errorf("%s: %+v, %v", tt.name, decisions, err)
		}
		if err != nil && executor.RuleOf(err) != tt.rule {
			t.Errorf("%s: rule of the error %q", tt.name, executor.RuleOf(err))
		}
	}
	var decisions []executor.Decision
	ctx := executor.WithCallOptions(t.Context(), executor.CallOptions{OnDecision: func(d executor.Decision) { decisions = append(decisions, d) }})
	_, err := pagetest.Of(g.Wrap(new(spy)), "").Click(ctx, executor.Target{}, nil)
	if executor.RuleOf(err) != "no-grant:mutations" || len(decisions) != 1 {
		t.Errorf("click: %v, %+v", err, decisions)
	}
}

// TestPageDenialsRecorded checks that denials that no call receives are recorded, except those of
// reads.
func TestPageDenialsRecorded(t *testing.T) {
	var log entries
	g := NewGuard(mustNew(t, Config{AllowDomains: []string{"example.com"}, Subresources: SubresourcesSame}), &GuardOptions{Audit: &log})
	const good = "https://example.com"
	for _, op := range []executor.Operation{executor.OpList, executor.OpRead} {
		if g.Check(context.Background(), executor.Access{Op: op, Origin: "https://evil.com", URL: "https://evil.com/"}) == nil {
			t.Error("allowed")
		}
	}
	if g.Check(context.Background(), executor.Access{Op: executor.OpRead, Origin: good, URL: good + "/"}) != nil || len(log) != 0 {
		t.Errorf("%+v", log)
	}
	g.Check(context.Background(), executor.Access{Op: executor.OpDownload, Tab: "cdp:a:1", Origin: good, URL: good + "/", Destination: good + "/secret.pdf"})
	n := g.Network()
	if n.CheckHost("", "example.com", 443) != nil || n.CheckDocument(good+"/") != nil {
		t.Error("denied")
	}
	// CheckDocument must also deny, but does not record.
	denied(t, "network", n.CheckDocument("https://evil.com/"))
	for _, err := range []error{
		n.CheckHost("", "evil.com", 443), n.CheckHost("http", "[::1]", 8080), n.CheckAddr("example.com", 443, netip.MustParseAddr("10.0.0.1")),
	} {
		denied(t, "network", err)
	}
	want := entries{
		{Event: audit.EventDenied, Tool: "download", Tab: "cdp:a:1", Origin: good, Decision: audit.Denied, Rule: "no-grant:downloads"},
		{Event: audit.EventDenied, Tool: "network", Origin: "evil.com:443", Decision: audit.Denied, Rule: "unlisted"},
		{Event: audit.EventDenied, Tool: "network", Origin: "http://[::1]:8080", Decision: audit.Denied, Rule: "unlisted"},
		{Event: audit.EventDenied, Tool: "network", Origin: "example.com:443", Decision: audit.Denied, Rule: "private-address"},
	}
	if len(log) != len(want) {
		t.Fatalf("%+v", log)
	}
	for i := range want {
		if log[i] != want[i] {
			t.Errorf("%+v, want %+v", log[i], want[i])
		}
	}
}
