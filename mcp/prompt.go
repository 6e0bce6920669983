package mcp

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
)

// newPrompt returns the prompt for a call that lacks the permission missing, or nil if the site is
// unknown.
func (r *toolRunner) newPrompt(ctx context.Context, ch *prompting.Channel, t *tool, raw []byte, args any, missing executor.Permission) *prompting.Prompt {
	site := missing.Origin
	if site == "" {
		if site = r.site(ctx, raw); site == "" {
			return nil
		}
	}
	policy := r.ex.Status(ctx).Policy
	if policy == nil {
		return nil
	}
	prompt := &prompting.Prompt{ID: strings.ToLower(rand.Text()), Client: ch.Client, Missing: missing, Site: site, Tool: t.name, Args: args, Tab: executor.TabID(namedArgsOf(raw).Tab)}
	prompt.Entry = r.audit.consentEntry(ctx, t.name, prompt.Tab, site)
	if !ch.Popup {
		prompt.Entry.Rule = ruleClient
	}
	if prompt.Message = prompting.Message(missing.Kind, site, t.name, policy); prompt.Message == "" {
		return nil
	}
	return prompt
}

// site returns the origin of the page that a call concerns, or "" if it is unknown or hidden from
// the client.
func (r *toolRunner) site(ctx context.Context, raw []byte) string {
	named := namedArgsOf(raw)
	if named.URL != "" {
		return webOrigin(named.URL)
	}
	t, _ := r.findTab(ctx, executor.TabID(named.Tab))
	return webOrigin(t.URL)
}

// webOrigin returns the origin of an http or https URL, or "" for any other URL.
func webOrigin(raw string) string {
	if origin := audit.Origin(raw); strings.HasPrefix(origin, "http") && strings.Contains(origin, "://") {
		return origin
	}
	return ""
}
