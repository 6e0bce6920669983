package policy

import (
	"net/url"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The rules that decide, as an audit log names them, beside "allow:PATTERN",
// "block:PATTERN" and "no-grant:NAME". They are in executor.Error's Rule of a
// denial, and in the executor.Decision of either.
const (
	ruleAll        = "all-domains"      // every public site is allowed
	ruleOurs       = "own-page"         // a blank page of ours, or the browser's own for one that did not load
	ruleOwnTab     = "own-tab"          // leaving or closing a tab that the session opened itself
	ruleData       = "own-content"      // a data: URL of an allowed document
	ruleEmpty      = "nothing-allowed"  // the policy allows no site
	ruleUnlisted   = "unlisted"         // no pattern allows it
	rulePrivate    = "private-address"  // its address is private or special
	ruleBuiltin    = "builtin"          // nothing opens it
	ruleOwnPort    = "own-port"         // a port of ours
	ruleScheme     = "scheme"           // neither http nor https
	ruleOpaque     = "opaque-origin"    // the document has no origin
	ruleUnreadable = "unreadable"       // the host is not in its plain form
	ruleMismatch   = "address-mismatch" // the host is not at the address to be dialed
	ruleUnknown    = "unknown-operation"
	ruleWhere      = "denied-page" // a call ended on a page that had been denied below
)

// rule names the lack of a grant.
func (g grant) rule() string {
	switch g {
	case grantMutations:
		return "no-grant:mutations"
	case grantDownloads:
		return "no-grant:downloads"
	case grantUploads:
		return "no-grant:uploads"
	case grantState:
		return "no-grant:state"
	case grantStorage:
		return "no-grant:storage"
	}
	return "no-grant:eval"
}

// allowRule names what allows an access that was allowed.
func (p *Policy) allowRule(a executor.Access) string {
	where := a.Destination
	switch {
	case a.Op == executor.OpDismiss && a.OwnTab:
		return ruleOwnTab
	case where == "" && a.Origin == executor.OriginOurs, isBlankURL(where):
		return ruleOurs
	case where == "" && a.Op == executor.OpNavigate && a.OwnTab:
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
