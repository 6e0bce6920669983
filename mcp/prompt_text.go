package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// newPrompt returns the prompt for a call that lacks the permission missing, or nil if the site is
// unknown. The message is fixed text, except for the site and the allow list: neither the page nor
// the other arguments of the call influence it.
func (s *toolSession) newPrompt(ctx context.Context, by *promptChannel, t *tool, raw []byte, args any, missing executor.Permission) *prompt {
	site := missing.Origin
	if site == "" {
		if site = s.site(ctx, raw); site == "" {
			return nil
		}
	}
	policy := s.ex.Status(ctx).Policy
	if policy == nil {
		return nil
	}
	tab, _ := namedTabAndURL(raw)
	q := &prompt{id: strings.ToLower(rand.Text()), client: by.client, missing: missing, site: site, tool: t, args: args, tab: executor.TabID(tab)}
	q.entry = s.audit.consentEntry(ctx, t.name, q.tab, site)
	if !by.popup {
		q.entry.Rule = ruleClient
	}
	everywhere := "every public site"
	if !policy.AllDomains {
		everywhere = patternList(policy.AllowDomains)
	}
	var b strings.Builder
	switch missing.Kind {
	case executor.PermitSite:
		b.WriteString("The agent wants to use " + site + ", which is not on the list of allowed sites (tool " + t.name + ").")
		b.WriteString(" If you allow it, the agent can open and read the pages there, with the logins of the browser that it drives")
		if policy.Mutations {
			b.WriteString(", and click, type and submit forms")
		}
		if policy.Downloads {
			b.WriteString(", and save files")
		}
		if policy.Uploads {
			b.WriteString(", and upload files of the upload directory")
		}
		if policy.Eval {
			b.WriteString(", and run JavaScript in its pages")
		}
		b.WriteString(".")
		if strings.HasPrefix(site, "http://") {
			b.WriteString(" The connection is not encrypted.")
		}
	case executor.PermitMutations:
		b.WriteString("The agent wants to act on " + site + " (tool " + t.name + "); it currently has read-only access.")
		b.WriteString(" If you allow it, the agent can click, type, submit forms and accept dialogs on all allowed sites: " + everywhere + ".")
	case executor.PermitDownloads:
		b.WriteString("The agent wants to save a file from " + site + " (tool " + t.name + ").")
		b.WriteString(" If you allow it, the agent can save files into its download directory from all allowed sites: " + everywhere + ".")
	case executor.PermitClipboard:
		b.WriteString("The agent wants to copy or paste on " + site + " (tool " + t.name + ").")
		b.WriteString(" If you allow it, the agent can read and replace what is in your clipboard, with the keys of this site's pages.")
	default:
		return nil
	}
	q.message = b.String()
	return q
}

// site returns the origin of the page that a call concerns, or "" if it is unknown or hidden from
// the client.
func (s *toolSession) site(ctx context.Context, raw []byte) string {
	tab, rawURL := namedTabAndURL(raw)
	if rawURL != "" {
		return webOrigin(rawURL)
	}
	t, _ := s.findTab(ctx, executor.TabID(tab))
	return webOrigin(t.URL)
}

// webOrigin returns the origin of an http or https URL, or "" for any other URL.
func webOrigin(raw string) string {
	if origin := audit.Origin(raw); strings.HasPrefix(origin, "http") && strings.Contains(origin, "://") {
		return origin
	}
	return ""
}

// maxListedPatterns is the maximum number of patterns that a prompt lists.
const maxListedPatterns = 5

// patternList returns patterns as a comma-separated list, truncated to maxListedPatterns.
func patternList(patterns []string) string {
	if more := len(patterns) - maxListedPatterns; more > 0 {
		return strings.Join(patterns[:maxListedPatterns], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(patterns, ", ")
}
