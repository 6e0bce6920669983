package policy

import (
	"net/url"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The names of rules in the audit log, in addition to "allow:PATTERN", "block:PATTERN" and
// "no-grant:NAME". They are the Rule of a denial's executor.Error and of each executor.Decision.
const (
	ruleAll           = "all-domains"      // every public site is allowed
	ruleInternal      = "own-page"         // a blank page that we opened, or the browser's error page
	ruleOwnTab        = "own-tab"          // navigating away from or closing a tab that the session opened
	ruleData          = "own-content"      // a data: URL of an allowed document
	ruleEmpty         = "nothing-allowed"  // the policy allows no site
	ruleUnlisted      = "unlisted"         // no pattern allows the site
	rulePrivate       = "private-address"  // the address is private or special
	ruleBuiltin       = "builtin"          // denied in every configuration
	ruleOwnPort       = "own-port"         // a port of chrome-mcp itself
	ruleScheme        = "scheme"           // neither http nor https
	ruleOpaque        = "opaque-origin"    // the document has an opaque origin
	ruleAmbiguousHost = "unreadable"       // the host is not in canonical form
	ruleMismatch      = "address-mismatch" // the host is not at the address to be dialed
	ruleUnknown       = "unknown-operation"
	ruleFinalURL      = "denied-page" // a call ended on a page that the gate had denied
)

// allowRule returns the name of the rule that allowed a.
func (p *Policy) allowRule(a executor.Access) string {
	where := a.Destination
	switch {
	case a.Op == executor.OpDismiss && a.OpenedBySession:
		return ruleOwnTab
	case where == "" && a.Origin == executor.OriginInternal, isBlankURL(where):
		return ruleInternal
	case where == "" && a.Op == executor.OpNavigate && a.OpenedBySession:
		return ruleOwnTab
	case where == "":
		where = a.Origin
	}
	u, err := url.Parse(where)
	if err != nil {
		return ""
	}
	if u.Scheme == "blob" {
		u, err = url.Parse(u.Opaque)
	} else if u.Scheme == "data" {
		return ruleData
	}
	if err != nil {
		return ""
	}
	s, err := parseAuthority(u.Scheme, u.Host)
	if err != nil {
		return ""
	}
	for _, pattern := range p.allow {
		if pattern.allows(s) {
			return "allow:" + pattern.String()
		}
	}
	if p.config.AllDomains {
		return ruleAll
	}
	return ""
}
