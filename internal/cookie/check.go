// Package cookie checks whether browsers accept a cookie from a site, by RFC 6265bis. Browsers do
// not report why they reject a cookie, so callers use this package.
package cookie

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// The limits of one cookie, in bytes, by section 5.7 of RFC 6265bis.
const (
	maxPair      = 4096 // name and value
	maxAttribute = 1024
)

// Check returns c in the form in which a document at site, an http or https URL, can set it. The
// path is set, and the domain is in the browser's form: empty for a cookie of the host only, with a
// leading dot for a cookie that is also for subdomains. The errors have code ErrBadArgs and do not
// contain the cookie's value.
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
		return c, rejectedError("A path begins with a slash.", "the path %q of the cookie does not begin with /", c.Path)
	}
	if !c.Expires.IsZero() && c.Expires.Before(time.Now()) {
		return c, rejectedError("Use delete to remove a cookie.", "expires is in the past, so the browser would remove the cookie immediately")
	}
	return c, checkAttributes(c, site)
}

// Expiry returns the expiry date that browsers and state files give in seconds since 1970. If it is not
// positive, the cookie expires when the browser exits, and Expiry returns the zero time.
func Expiry(seconds float64) time.Time {
	if s := int64(max(seconds, 0)); s != 0 {
		return time.Unix(s, 0)
	}
	return time.Time{}
}

func rejectedError(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrBadArgs, hint, format, args...)
}

func checkText(c executor.Cookie) error {
	switch {
	case c.Name == "":
		return rejectedError("", "the cookie has no name")
	case strings.ContainsAny(c.Name, "=;"), hasControl(c.Name), strings.Trim(c.Name, " \t") != c.Name:
		return rejectedError("Remove =, ;, control characters, and leading and trailing spaces.", "invalid cookie name %q", c.Name)
	case strings.Contains(c.Value, ";"), hasControl(c.Value), strings.Trim(c.Value, " \t") != c.Value:
		return rejectedError("Remove ;, control characters, and leading and trailing spaces. Sites encode such values, usually as in URLs.", "invalid value for cookie %q", c.Name)
	case len(c.Name)+len(c.Value) > maxPair:
		return rejectedError("", "name and value of cookie %.60q have %d bytes in total; browsers accept at most %d", c.Name, len(c.Name)+len(c.Value), maxPair)
	case strings.Contains(c.Path, ";"), hasControl(c.Path), len(c.Path) > maxAttribute:
		return rejectedError("", "invalid cookie path %.60q", c.Path)
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
		return "", nil // there are no subdomains, or they belong to other sites
	case domain == host:
		return "." + domain, nil
	case isAddress || !strings.HasSuffix(host, "."+domain):
		return "", rejectedError("Omit domain, or navigate to a page of that site first.", "a page of %s cannot set a cookie for the domain %q: it is neither that host nor a parent domain of it", host, domain)
	case IsPublicSuffix(domain):
		return "", rejectedError("Use the site's own domain, or omit domain.", "%q is a public suffix: unrelated sites share it, and browsers reject cookies for it", domain)
	}
	return "." + domain, nil
}

// IsPublicSuffix reports whether unrelated sites share a domain.
func IsPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}

// checkAttributes checks that the attributes are compatible with each other, with the prefix of the
// name and with the site.
func checkAttributes(c executor.Cookie, site *url.URL) error {
	name := strings.ToLower(c.Name)
	switch {
	case c.SameSite != "" && c.SameSite != executor.SameSiteStrict && c.SameSite != executor.SameSiteLax && c.SameSite != executor.SameSiteNone:
		return rejectedError("Use Strict, Lax or None.", "sameSite %q is unknown", string(c.SameSite))
	case c.SameSite == executor.SameSiteNone && !c.Secure:
		return rejectedError("Also set secure.", "browsers accept sameSite None for secure cookies only")
	case c.Secure && site.Scheme != "https" && !isLoopback(site.Hostname()):
		return rejectedError("Open the site over https, or omit secure.", "a page loaded over http cannot set a secure cookie")
	case strings.HasPrefix(name, "__host-") && (!c.Secure || c.Domain != "" || c.Path != "/"):
		return rejectedError("Set secure, and omit domain and path.", "cookies whose names begin with __Host- must be secure, without domain, and have the path /")
	case strings.HasPrefix(name, "__secure-") && !c.Secure:
		return rejectedError("Also set secure.", "cookies whose names begin with __Secure- must be secure")
	}
	return nil
}

// isLoopback reports whether host is a loopback host, which browsers trust without https.
func isLoopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
