package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
)

type statusArgs struct{}

func (r *toolRunner) chromeStatus(ctx context.Context, _ statusArgs) (statusResult, error) {
	st := r.ex.Status(ctx)
	if st.Version == "" {
		st.Version = r.opts.Version
	}
	st.Detail = hint.Translate(st.Detail)
	st.Browsers = slices.Clone(st.Browsers) // because it may be shared
	for i := range st.Browsers {
		st.Browsers[i].Detail = hint.Translate(st.Browsers[i].Detail)
	}
	if st.Policy != nil {
		p := *st.Policy // copy, because it may be shared
		p.AllowDomains = browsertools.NonNil(p.AllowDomains)
		st.Policy = &p
	}
	return statusResult{st}, nil
}

type statusResult struct{ executor.Status }

func (r statusResult) Render(t *mcptext.Text) {
	t.Line("ready: %t", r.Ready)
	if r.Detail != "" {
		t.Line("detail: %s", mcptext.Own(mcptext.OneLine(r.Detail)))
	}
	if r.Backend != "" {
		t.Line("backend: %s", r.Backend)
	}
	if r.ActiveTabID != "" {
		t.Line("active tab: %s", r.ActiveTabID)
	}
	t.Line("extension connected: %t", r.ExtensionConnected)
	t.Line("cdp attached: %t", r.CDPAttached)
	for _, c := range r.CDPClients {
		t.Line("cdp client: %s since %s", mcptext.OneLine(c.Name), mcptext.Own(c.Since.UTC().Format(time.RFC3339)))
	}
	for _, b := range r.Browsers {
		state := mcptext.Own("not open")
		if b.Open {
			state = "open"
		}
		line := mcptext.Ownf("browser %s: %s, %s", mcptext.Own(b.Name), mcptext.Own(b.Type), state)
		if b.Color != "" {
			line += ", " + mcptext.Own(b.Color)
		}
		if b.Detail != "" {
			line += "; " + mcptext.Own(mcptext.OneLine(b.Detail))
		}
		t.Line("%s", line)
	}
	if r.Displaced {
		t.Line("displaced: a newer connection replaced this one")
	}
	if r.FilesURL != "" {
		t.Line("files: %s", mcptext.Own(r.FilesURL))
	}
	if p := r.Policy; p != nil {
		allowed := mcptext.Own(cmp.Or(strings.Join(p.AllowDomains, " "), "none"))
		if p.AllDomains {
			allowed = "all"
		}
		t.Line("allowed domains: %s", allowed)
		if len(p.BlockDomains) > 0 {
			t.Line("blocked domains: %s", mcptext.Own(strings.Join(p.BlockDomains, " ")))
		}
		t.Line("mutations: %t, eval: %t, downloads: %t, uploads: %t, storage: %t, state files: %t", p.Mutations, p.Eval, p.Downloads, p.Uploads, p.Storage, p.State)
		if p.Clipboard {
			t.Line("the user's clipboard: true")
		}
		if p.Subresources != "" {
			t.Line("subresources: %s", mcptext.Own(p.Subresources))
		}
	}
	if r.Version != "" {
		t.Line("version: %s", mcptext.Own(r.Version))
	}
}
