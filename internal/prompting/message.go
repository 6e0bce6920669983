package prompting

import (
	"fmt"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Message returns the message of a prompt for a call of a tool on a site, or "" for a kind of
// permission that no prompt grants. It is fixed text, except for the site and the allow list:
// neither the page nor the other arguments of the call influence it.
func Message(kind executor.PermissionKind, site, tool string, policy *executor.PolicyStatus) string {
	everywhere := "every public site"
	if !policy.AllDomains {
		everywhere = patternList(policy.AllowDomains)
	}
	var b strings.Builder
	switch kind {
	case executor.PermitSite:
		b.WriteString("The agent wants to use " + site + ", which is not on the list of allowed sites (tool " + tool + ").")
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
		b.WriteString("The agent wants to act on " + site + " (tool " + tool + "); it currently has read-only access.")
		b.WriteString(" If you allow it, the agent can click, type, submit forms and accept dialogs on all allowed sites: " + everywhere + ".")
	case executor.PermitDownloads:
		b.WriteString("The agent wants to save a file from " + site + " (tool " + tool + ").")
		b.WriteString(" If you allow it, the agent can save files into its download directory from all allowed sites: " + everywhere + ".")
	case executor.PermitClipboard:
		b.WriteString("The agent wants to copy or paste on " + site + " (tool " + tool + ").")
		b.WriteString(" If you allow it, the agent can read and replace what is in your clipboard, with the keys of this site's pages.")
	default:
		return ""
	}
	return b.String()
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
