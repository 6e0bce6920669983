package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
)

// question returns what to ask about a call that is denied for want of missing,
// nil when it cannot be said for which site. Its words are ours: neither the
// page nor the caller's arguments have a say in them, but for the site.
func (s *session) question(ctx context.Context, t *tool, raw []byte, args any, missing executor.Permission) *question {
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
	tab, _ := subject(raw)
	q := &question{id: strings.ToLower(rand.Text()), missing: missing, site: site, tool: t, args: args, tab: executor.TabID(tab)}
	q.entry = audit.Entry{Event: audit.EventConsent, Tool: t.name, Tab: tab, Origin: audit.Origin(site)}
	if s.audit != nil {
		q.entry.Session, q.entry.Client = s.audit.session, s.audit.name()
	}
	everywhere := "every public site"
	if !policy.AllDomains {
		everywhere = named(policy.AllowDomains)
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
			b.WriteString(", and give it files of the folder for uploads")
		}
		if policy.Eval {
			b.WriteString(", and run scripts of its own")
		}
		b.WriteString(".")
		if strings.HasPrefix(site, "http://") {
			b.WriteString(" The connection is not encrypted.")
		}
	case executor.PermitMutations:
		b.WriteString("The agent wants to act on " + site + " (tool " + t.name + "); so far it may only look.")
		b.WriteString(" If you allow it, the agent can click, type, submit forms and accept dialogs wherever it may go: " + everywhere + ".")
	case executor.PermitDownloads:
		b.WriteString("The agent wants to save a file from " + site + " (tool " + t.name + ").")
		b.WriteString(" If you allow it, the agent can save files into its download folder from wherever it may go: " + everywhere + ".")
	default:
		return nil
	}
	q.words = b.String()
	return q
}

// site returns the origin of the page that a call is about, empty when that is
// not known, or is not for the client to know.
func (s *session) site(ctx context.Context, raw []byte) string {
	tab, where := subject(raw)
	if where != "" {
		return webOrigin(where)
	}
	tabs, err := s.ex.ListTabs(ctx)
	if err != nil {
		return ""
	}
	for _, t := range tabs {
		if tab == string(t.ID) || tab == "" && (t.Active || len(tabs) == 1) {
			return webOrigin(t.URL)
		}
	}
	return ""
}

// webOrigin returns the origin of an http or https URL in its plain form, empty
// for any other.
func webOrigin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// maxNamed is how many sites a question names.
const maxNamed = 5

// named lists the patterns of sites.
func named(patterns []string) string {
	if more := len(patterns) - maxNamed; more > 0 {
		return strings.Join(patterns[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(patterns, ", ")
}
