package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
)

type statusArgs struct{}

func (s *toolSession) chromeStatus(ctx context.Context, _ statusArgs) (statusResult, error) {
	st := s.ex.Status(ctx)
	if st.Version == "" {
		st.Version = s.opts.Version
	}
	st.Detail = hint.Translate(st.Detail)
	st.Browsers = slices.Clone(st.Browsers) // because it may be shared
	for i := range st.Browsers {
		st.Browsers[i].Detail = hint.Translate(st.Browsers[i].Detail)
	}
	if st.Policy != nil {
		p := *st.Policy // copy, because it may be shared
		p.AllowDomains = nonNil(p.AllowDomains)
		st.Policy = &p
	}
	return statusResult{st}, nil
}

type statusResult struct{ executor.Status }

func (r statusResult) render(t *text) {
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
	for _, c := range r.CDPClients {
		t.line("cdp client: %s since %s", oneLine(c.Name), own(c.Since.UTC().Format(time.RFC3339)))
	}
	for _, b := range r.Browsers {
		state := own("not open")
		if b.Open {
			state = "open"
		}
		line := ownf("browser %s: %s, %s", own(b.Name), own(b.Type), state)
		if b.Color != "" {
			line += ", " + own(b.Color)
		}
		if b.Detail != "" {
			line += "; " + own(oneLine(b.Detail))
		}
		t.line("%s", line)
	}
	if r.Displaced {
		t.line("displaced: a newer connection replaced this one")
	}
	if r.FilesURL != "" {
		t.line("files: %s", own(r.FilesURL))
	}
	if p := r.Policy; p != nil {
		allowed := own(cmp.Or(strings.Join(p.AllowDomains, " "), "none"))
		if p.AllDomains {
			allowed = "all"
		}
		t.line("allowed domains: %s", allowed)
		if len(p.BlockDomains) > 0 {
			t.line("blocked domains: %s", own(strings.Join(p.BlockDomains, " ")))
		}
		t.line("mutations: %t, eval: %t, downloads: %t, uploads: %t, storage: %t, state files: %t", p.Mutations, p.Eval, p.Downloads, p.Uploads, p.Storage, p.State)
		if p.Clipboard {
			t.line("the user's clipboard: true")
		}
		if p.Subresources != "" {
			t.line("subresources: %s", own(p.Subresources))
		}
	}
	if r.Version != "" {
		t.line("version: %s", own(r.Version))
	}
}
