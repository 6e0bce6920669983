// Package cookie knows which cookies browsers take from a site, by RFC 6265bis,
// so that a caller hears why one is not taken: a browser does not say.
package cookie

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The bounds of one cookie, in bytes, by section 5.7 of RFC 6265bis.
const (
	maxPair      = 4096 // name and value
	maxAttribute = 1024
)

// Check returns c as a document at site, an http or https URL, may set it: with
// its path, and with its domain in the browser's form, empty for the host alone
// and with a leading dot where it is of subdomains too. Its errors are
// ErrBadArgs, and tell no value.
func Check(c executor.Cookie, site *url.URL) (executor.Cookie, error) {
	if err := checkText(c); err != nil {
		return c, err
	}
	domain, err := checkDomain(c.Domain, site.Hostname())
	if err != nil {
		return c, err
	}
	c.Domain = domain
	if c.Path == "" {
		c.Path = "/"
	}
	if !strings.HasPrefix(c.Path, "/") {
		return c, refused("A path begins with a slash.", "the path %q of the cookie does not begin with /", c.Path)
	}
	if c.Expires != 0 && time.Unix(c.Expires, 0).Before(time.Now()) {
		return c, refused("To be rid of a cookie, delete it.", "expires is in the past, so that the cookie would be gone at once")
	}
	return c, checkAttributes(c, site)
}

func refused(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrBadArgs, hint, format, args...)
}

func checkText(c executor.Cookie) error {
	switch {
	case c.Name == "":
		return refused("", "the cookie has no name")
	case strings.ContainsAny(c.Name, "=;"), hasControl(c.Name), strings.Trim(c.Name, " \t") != c.Name:
		return refused("Leave out =, ;, control characters, and spaces at its ends.", "%q cannot be the name of a cookie", c.Name)
	case strings.Contains(c.Value, ";"), hasControl(c.Value), strings.Trim(c.Value, " \t") != c.Value:
		return refused("Leave out ;, control characters, and spaces at its ends: sites encode such values, mostly as in URLs.", "the value of cookie %q cannot be one", c.Name)
	case len(c.Name)+len(c.Value) > maxPair:
		return refused("", "name and value of cookie %.60q are %d bytes together, and browsers take at most %d", c.Name, len(c.Name)+len(c.Value), maxPair)
	case strings.Contains(c.Path, ";"), hasControl(c.Path), len(c.Path) > maxAttribute:
		return refused("", "%.60q cannot be the path of a cookie", c.Path)
	}
	return nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// checkDomain returns the domain of a cookie that a host sets.
func checkDomain(domain, host string) (string, error) {
	domain = strings.ToLower(strings.TrimPrefix(domain, "."))
	_, err := netip.ParseAddr(host)
	isAddress := err == nil
	switch {
	case domain == "":
		return "", nil
	case domain == host && (isAddress || IsPublicSuffix(host)):
		return "", nil // it has no subdomains, or none of its own
	case domain == host:
		return "." + domain, nil
	case isAddress || !strings.HasSuffix(host, "."+domain):
		return "", refused("Leave domain out, or go to a page of that site first.", "a page of %s cannot set a cookie for the domain %q: it is neither that host nor above it", host, domain)
	case IsPublicSuffix(domain):
		return "", refused("Name the site's own domain, or leave domain out.", "%q is a public suffix: unrelated sites share it, and browsers take no cookies for it", domain)
	}
	return "." + domain, nil
}

// IsPublicSuffix reports whether unrelated sites share a domain.
func IsPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}

// checkAttributes holds the attributes against each other, the prefix of the
// name and the site.
func checkAttributes(c executor.Cookie, site *url.URL) error {
	name := strings.ToLower(c.Name)
	switch {
	case c.SameSite != "" && c.SameSite != executor.SameSiteStrict && c.SameSite != executor.SameSiteLax && c.SameSite != executor.SameSiteNone:
		return refused("Use Strict, Lax or None.", "sameSite %q is unknown", string(c.SameSite))
	case c.SameSite == executor.SameSiteNone && !c.Secure:
		return refused("Set secure too.", "browsers take sameSite None for secure cookies only")
	case c.Secure && site.Scheme != "https" && !isLoopback(site.Hostname()):
		return refused("Open the site over https, or leave secure out.", "a page that came over http cannot set a secure cookie")
	case strings.HasPrefix(name, "__host-") && (!c.Secure || c.Domain != "" || c.Path != "/"):
		return refused("Set secure, and leave domain and path out.", "cookies whose names begin with __Host- are secure, of one host and of the path /")
	case strings.HasPrefix(name, "__secure-") && !c.Secure:
		return refused("Set secure too.", "cookies whose names begin with __Secure- are secure")
	}
	return nil
}

// isLoopback reports whether host is this machine, which browsers trust without
// https.
func isLoopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
