package policy

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Blank is the URL of an empty page. It is the only URL a caller may pass that is not http or
// https.
const Blank = "about:blank"

// maxURL limits the URL that a caller may pass, in bytes. Servers reject much shorter ones;
// Chromium's limit is 2 MiB.
const maxURL = 64 << 10

// A URL is a caller's URL that [ParseURL] accepted.
type URL struct {
	text  string
	site  site
	blank bool
}

// String returns the URL to send to the browser.
func (u *URL) String() string { return u.text }

// Host returns the host in lower case, an IPv6 address in brackets, or "" for a blank page.
func (u *URL) Host() string { return u.site.host }

// Port returns the port, by default the scheme's, or 0 for a blank page.
func (u *URL) Port() int { return int(u.site.port) }

// Origin returns the origin as a browser serializes it, or executor.OriginInternal for a blank
// page.
func (u *URL) Origin() string {
	if u.blank {
		return executor.OriginInternal
	}
	return u.site.scheme + "://" + u.site.host + portSuffix(u.site.scheme, u.site.port)
}

// Pattern returns the narrowest pattern that allows the site of the URL, or "" if no pattern does.
func (u *URL) Pattern() string {
	if u.blank {
		return ""
	}
	return u.site.pattern()
}

// IsBlank reports whether the URL is about:blank.
func (u *URL) IsBlank() bool { return u.blank }

// ParseURL parses a caller's URL. It accepts only URLs that every parser reads alike: http or
// https, and already serialized as a browser does it. The only exception is the root slash:
// "http://localhost:8080" becomes "http://localhost:8080/".
//
// ParseURL returns ErrBadArgs for a malformed URL, and ErrPolicyDenied for another scheme. Neither
// error contains the URL.
func ParseURL(raw string) (*URL, error) {
	switch {
	case raw == Blank:
		return &URL{text: Blank, blank: true}, nil
	case raw == "":
		return nil, badURL("Give an absolute http or https URL.", "is empty")
	case len(raw) > maxURL:
		return nil, badURL("", "is longer than 64 KiB")
	}
	for i := range len(raw) {
		switch c := raw[i]; {
		case c <= ' ' || c == 0x7f:
			return nil, badURL("Percent-encode it (%20 is a space).", "has a space or control character")
		case c >= 0x80:
			return nil, badURL("Percent-encode it, and write the host in punycode (xn--…).", "has non-ASCII characters")
		case c == '\\':
			return nil, badURL("Write / or %5C.", "has a backslash")
		}
	}
	scheme, rest, err := cutScheme(raw)
	if err != nil {
		return nil, err
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	s, err := parseAuthority(scheme, authority)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(tail, "/") {
		tail = "/" + tail
	}
	if err := checkTail(tail); err != nil {
		return nil, err
	}
	s.path = tail
	if i := strings.IndexAny(tail, "?#"); i >= 0 {
		s.path = tail[:i]
	}
	u := &URL{text: scheme + "://" + authority + tail, site: s}

	// net/url must agree. It drops an empty fragment, which browsers keep.
	std, err := url.Parse(u.text)
	if err != nil || std.Host != authority || std.String() != strings.TrimSuffix(u.text, "#") {
		return nil, badURL("Percent-encode everything but letters, digits and the URL's own punctuation.",
			"is not in the form in which a browser serializes it")
	}
	return u, nil
}

// cutScheme returns the scheme, http or https, and the text after "://".
func cutScheme(raw string) (scheme, rest string, err error) {
	const inFull = "Write it in full, as in https://example.com/."
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/?#") {
		return "", "", badURL(inFull, "has no scheme")
	}
	if scheme == "http" || scheme == "https" {
		rest, ok := strings.CutPrefix(rest, "//")
		if !ok {
			return "", "", badURL(inFull, "lacks // after its scheme")
		}
		return scheme, rest, nil
	}
	lower := strings.ToLower(scheme)
	if rest != "" && rest[0] >= '0' && rest[0] <= '9' && !strings.ContainsAny(scheme, "+") && lower != "tel" &&
		lower != "sms" {
		return "", "", badURL(inFull, "has no scheme") // localhost:8080
	}
	switch {
	case lower == "http" || lower == "https":
		return "", "", badURL("Write the scheme in lower case.", "has an upper-case scheme")
	case len(lower) <= 32 && strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == "":
		return "", "", deniedScheme(lower)
	}
	return "", "", badURL(inFull, "has no scheme")
}

// parseAuthority parses host[:port] as a browser serializes it.
func parseAuthority(scheme, authority string) (site, error) {
	s := site{scheme: scheme}
	switch {
	case strings.Contains(authority, "@"):
		return s, badURL("Remove the user name and password before the @.", "has a user name or password")
	case strings.Contains(authority, "%"):
		return s, badURL("Write the host without percent-encoding.", "has a %% in its host")
	}
	host, port, hasPort, err := cutPort(authority)
	if err != nil {
		return s, badURL("", "is malformed: %w", err)
	}
	if s.addr, err = parseHost(host); err != nil {
		return s, badURL("Write the host in canonical form: lower case, an IPv4 address as four decimal numbers.",
			"is malformed: %w", err)
	}
	s.host, s.port = host, defaultPort(scheme)
	if hasPort {
		n, err := parsePort(port)
		if err != nil {
			return s, badURL("", "is malformed: %w", err)
		}
		if n == s.port {
			return s, badURL("Omit the port.", "names the default port of its scheme")
		}
		s.port = n
	}
	return s, nil
}

// checkTail rejects a path or query that a browser would rewrite and net/url would not.
func checkTail(tail string) error {
	beforeFragment, _, _ := strings.Cut(tail, "#")
	path, query, _ := strings.Cut(beforeFragment, "?")
	if hasDotSegment(path) {
		return badURL("Resolve . and .. first.", "has a . or .. segment in its path")
	}
	if strings.ContainsAny(query, `"<>'`) {
		return badURL(`Percent-encode it: %22 for ", %27 for ', %3C for <, %3E for >.`,
			"has a quote or angle bracket in its query")
	}
	return nil
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

func portSuffix(scheme string, port uint16) string {
	if scheme != "" && port == defaultPort(scheme) {
		return ""
	}
	return ":" + strconv.Itoa(int(port))
}

func badURL(hint, format string, args ...any) error {
	return executor.Errorf(executor.ErrBadArgs, hint, "url "+format, args...)
}
