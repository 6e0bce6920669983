package mcp

import (
	"context"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

type statusArgs struct{}

func (s *session) chromeStatus(ctx context.Context, _ statusArgs) (status, error) {
	st := s.ex.Status(ctx)
	if st.Version == "" {
		st.Version = s.version
	}
	if st.Policy != nil {
		p := *st.Policy // it may be shared
		p.AllowDomains = some(p.AllowDomains)
		st.Policy = &p
	}
	return status{st}, nil
}

type status struct{ executor.Status }

func (r status) render(t *text) {
	t.line("ready: %t", r.Ready)
	if r.Detail != "" {
		t.line("detail: %s", own(oneLine(r.Detail)))
	}
	if r.Backend != "" {
		t.line("backend: %s", r.Backend)
	}
	if r.ActiveTabID != "" {
		t.line("active tab: %s", r.ActiveTabID)
	}
	t.line("extension connected: %t", r.ExtensionConnected)
	t.line("cdp attached: %t", r.CDPAttached)
	if r.Displaced {
		t.line("displaced: another connection took this one's place")
	}
	if p := r.Policy; p != nil {
		allowed := own(or(strings.Join(p.AllowDomains, " "), "none"))
		if p.AllDomains {
			allowed = "all"
		}
		t.line("allowed domains: %s", allowed)
		if len(p.BlockDomains) > 0 {
			t.line("blocked domains: %s", own(strings.Join(p.BlockDomains, " ")))
		}
		t.line("mutations: %t, eval: %t, downloads: %t, uploads: %t, storage: %t, state files: %t", p.Mutations, p.Eval, p.Downloads, p.Uploads, p.Storage, p.State)
		if p.Subresources != "" {
			t.line("subresources: %s", own(p.Subresources))
		}
	}
	if r.Version != "" {
		t.line("version: %s", own(r.Version))
	}
}
