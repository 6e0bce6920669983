package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Agents read denials, and a page could persuade an agent to change its own configuration. So a
// hint says what the user can do, and names only flags that allow one site or one harmless grant.
// The --unsafe- flags are named in the log and by doctor, but never here.

// deny returns a denial. rule is the name of its rule for logs, see rule.go.
func deny(rule, hint, format string, args ...any) *executor.Error {
	e := executor.Errorf(executor.ErrPolicyDenied, hint, format, args...)
	e.Rule = rule
	return e
}

func deniedScheme(scheme string) error {
	return deny(ruleScheme, "Only http and https pages can be opened.",
		"URLs with the scheme %s: are never allowed", scheme)
}

func deniedOpaque() error {
	return deny(ruleOpaque, "Open the page itself instead.",
		"the document has an opaque origin (data: URL or sandboxed frame)")
}

func deniedEmpty() *executor.Error {
	return deny(ruleEmpty,
		"The user can allow a site with Config.AllowDomains, for example Config.AllowDomains example.com.",
		"the policy allows no site at all")
}

func ambiguousHostError() error {
	return deny(ruleAmbiguousHost, "", "the host is not in canonical form")
}

func deniedOwnPort(port uint16) error {
	return deny(ruleOwnPort, "This cannot be allowed. On another machine, use its host name.",
		"port %d belongs to chrome-mcp itself, so addresses with this port are denied", port)
}

func deniedBuiltin(host, what string) error {
	return deny(ruleBuiltin, "This cannot be allowed.", "host %q is %s, which is never allowed", host, what)
}

func deniedBlocked(host string, rule Pattern) error {
	return deny("block:"+rule.String(), "The user has blocked this host. Only the user can unblock it.",
		"host %q is blocked by the rule %q", host, rule)
}

// deniedUnlisted is the denial of a site that is not in the allow list. empty reports that the
// allow list is empty.
func deniedUnlisted(s site, empty bool) error {
	list := "the allow list"
	if empty {
		list += ", which is empty"
	}
	what := fmt.Sprintf("host %q", s.host)
	if s.scheme == "http" && !s.loopback() {
		what += " over plain http"
	}
	if s.port != defaultPort(s.scheme) {
		what += fmt.Sprintf(" on port %d", s.port)
	}
	p := s.pattern()
	switch {
	case s.promptable():
		e := deny(ruleUnlisted, fmt.Sprintf("The user can allow it with Config.AllowDomains %s.", p),
			"%s is not in %s", what, list)
		e.Missing = &executor.Permission{Kind: executor.PermitSite, Origin: s.origin()}
		return e
	case p == "", s.addr.IsValid() && !IsPublic(s.addr) && !allowable(s):
		return deny(ruleUnlisted, "Use another site.", "%s is not in %s", what, list)
	case s.addr.IsValid() && !s.loopback() && !IsPublic(s.addr):
		return deny(ruleUnlisted,
			fmt.Sprintf("The user can allow it with Config.AllowDomains %s and Config.AllowPrivate %s.", p, oneAddress(s)),
			"%s is not in %s", what, list)
	}
	return deny(ruleUnlisted, fmt.Sprintf("The user can allow it with Config.AllowDomains %s.", p),
		"%s is not in %s", what, list)
}

// deniedPrivate is the denial of a private address. It does not contain the address of a name,
// because the caller could use it to map the network.
func deniedPrivate(s site) error {
	hint := "The user can open a private network with Config.AllowPrivate and its CIDR."
	switch {
	case !s.addr.IsValid():
	case allowable(s):
		hint = fmt.Sprintf("The user can open it with Config.AllowPrivate %s.", oneAddress(s))
	default:
		hint = "This cannot be allowed."
	}
	return deny(rulePrivate, hint, "host %q is at a private or special address", s.host)
}

// allowable reports whether Config.AllowPrivate accepts the address of s.
func allowable(s site) bool {
	_, err := parsePrivate(oneAddress(s))
	return err == nil
}

func oneAddress(s site) string {
	return fmt.Sprintf("%s/%d", s.addr, s.addr.BitLen())
}

// A grant is a capability that the configuration gives in addition to the allowed domains.
type grant int

const (
	grantMutations grant = iota
	grantDownloads
	grantEval
	grantUploads
	grantStorage
	grantState
	grantClipboard
)

// grants describe the grants.
var grants = map[grant]struct {
	name   string // in the name of the rule that denies a call without it
	has    func(*Config) bool
	denial error
	hint   string
	prompt executor.PermissionKind // that the user can be prompted for; empty means none
}{
	grantMutations: {"mutations", func(c *Config) bool { return c.Mutations }, errors.New("changing pages is not enabled"),
		"The user can allow changing pages with Config.Mutations.", executor.PermitMutations},
	grantDownloads: {"downloads", func(c *Config) bool { return c.Downloads }, errors.New("downloads are not enabled"),
		"The user can allow downloads with Config.Downloads.", executor.PermitDownloads},
	grantEval: {"eval", func(c *Config) bool { return c.Eval }, errNoEval,
		"The user can see with `chrome-mcp doctor` how running JavaScript is granted.", ""},
	grantUploads: {"uploads", func(c *Config) bool { return c.UploadsDir != "" }, errors.New("uploads are not enabled"),
		"The user can allow uploads from one directory with Config.UploadsDir.", ""},
	grantStorage: {"storage", func(c *Config) bool { return c.Storage },
		errors.New("reading and changing cookies and web storage is not enabled"),
		"The user can allow it with Config.Storage. Cookies and storage items can be listed without their values.", ""},
	grantState: {"state", func(c *Config) bool { return c.StateDir != "" }, errors.New("state files are not enabled"),
		"The user can allow saving and loading logins with Config.StateDir.", ""},
	grantClipboard: {"clipboard", func(c *Config) bool { return c.Clipboard },
		errors.New("copying and pasting with the user's clipboard is not enabled"),
		"Read the text from the page, and enter it with Page.Type. The user can allow it with Config.Clipboard.", executor.PermitClipboard},
}

func (p *Policy) granted(g grant) bool { return p != nil && grants[g].has(&p.config) }

func deniedGrant(g grant) *executor.Error {
	missing := grants[g]
	e := deny("no-grant:"+missing.name, missing.hint, "%w", missing.denial)
	if missing.prompt != "" {
		e.Missing = &executor.Permission{Kind: missing.prompt}
	}
	return e
}

// checkClipboard decides whether the user's clipboard may be used in a document of origin.
func (p *Policy) checkClipboard(origin string) error {
	if p.granted(grantClipboard) || slices.Contains(p.clipboard, origin) {
		return nil
	}
	e := deniedGrant(grantClipboard)
	if s, err := parseOrigin(origin); err == nil {
		e.Missing.Origin = s.origin()
	} else {
		e.Missing = nil
	}
	return e
}

// errNoEval identifies this denial for the log.
var errNoEval = errors.New("JavaScript evaluation and raw CDP commands are not enabled")
