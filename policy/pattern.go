package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// A Pattern names hosts to allow or to block. The package comment describes its syntax. The zero
// Pattern matches nothing.
//
// Patterns are not globs: a * is always the complete first label, so a suffix comparison is
// unambiguous.
type Pattern struct {
	text       string
	scheme     string         // "http", "https", or "" for both (loopback only)
	host       string         // without the "*."
	addr       netip.Addr     // when host is an address
	subdomains bool           // the pattern begins with "*."
	port       uint16         // 0 means any
	path       string         // prefix with its leading slash, or ""
	below      *regexp.Regexp // matches paths below path; nil without path
}

// ParsePattern parses s. Its error gives the reason and does not repeat s.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{text: s}
	if err := plainText(s); err != nil {
		return Pattern{}, err
	}
	rest := s
	if scheme, after, ok := strings.Cut(s, "://"); ok {
		if scheme != "http" && scheme != "https" {
			return Pattern{}, errors.New("the scheme is neither http nor https")
		}
		p.scheme, rest = scheme, after
	}
	authority := rest
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, p.path = rest[:i], rest[i:]
	}
	if err := checkPrefix(p.path); err != nil {
		return Pattern{}, err
	}
	if p.path == "/" {
		p.path = ""
	}
	if p.path != "" {
		p.below = regexp.MustCompile("(?i)^" + below(p.path))
	}

	host, port, hasPort, err := cutPort(authority)
	if err != nil {
		return Pattern{}, err
	}
	if host == "*" {
		return Pattern{}, errors.New("* alone would mean every host; name the hosts")
	}
	p.host, p.subdomains = strings.CutPrefix(host, "*.")
	if strings.Contains(p.host, "*") {
		return Pattern{}, errors.New("* can only be the whole first label, as in *.example.com")
	}
	if p.addr, err = parseHost(p.host); err != nil {
		return Pattern{}, err
	}
	if p.subdomains && p.addr.IsValid() {
		return Pattern{}, errors.New("an address has no subdomains")
	}
	if !p.addr.IsValid() && isPublicSuffix(p.host, p.subdomains) {
		return Pattern{}, errors.New("is a public suffix: unrelated sites share it")
	}

	loopback := p.addr.IsLoopback() || isLoopbackName(p.host)
	switch {
	case hasPort && port == "*":
	case hasPort:
		if p.port, err = parsePort(port); err != nil {
			return Pattern{}, err
		}
	case loopback: // any
	case p.scheme == "http":
		p.port = 80
	default:
		p.port = 443
	}
	if p.scheme == "" && !loopback {
		p.scheme = "https"
	}
	return p, nil
}

// plainText rejects characters that are not allowed in a pattern.
func plainText(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case strings.Contains(s, "@"):
		return errors.New("has a user name; write the host alone")
	case strings.Contains(s, "?"):
		return errors.New("has a query; write only the host and an optional path")
	case strings.Contains(s, "#"):
		return errors.New("has a fragment; write only the host and an optional path")
	case strings.Contains(s, `\`):
		return errors.New("has a backslash")
	}
	for i := range len(s) {
		switch {
		case s[i] >= 0x80:
			return errors.New("has non-ASCII characters; write the host in punycode (xn--…)")
		case s[i] <= ' ' || s[i] == 0x7f:
			return errors.New("has a space or control character")
		}
	}
	return nil
}

// maxPrefix limits the path of a pattern, in bytes. Each byte becomes a part of a regular
// expression.
const maxPrefix = 2000

// checkPrefix accepts a path only if a browser sends it unchanged.
func checkPrefix(path string) error {
	if len(path) > maxPrefix {
		return fmt.Errorf("the path is longer than %d bytes; write a shorter prefix", maxPrefix)
	}
	if strings.Contains(path, "*") {
		return errors.New("the path is a prefix and cannot contain *")
	}
	if strings.Contains(path, "%") || strings.Contains(path, "//") {
		return errors.New("the path has % or //; write it without them")
	}
	if hasDotSegment(path) {
		return errors.New("the path has a . or .. segment")
	}
	return nil
}

// cutPort splits an authority at the colon before its port. It does not check the host.
func cutPort(authority string) (host, port string, ok bool, err error) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.HasSuffix(authority, "]") {
		return authority, "", false, nil
	}
	host, port = authority[:i], authority[i+1:]
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "", "", false, errors.New("an IPv6 address needs brackets")
	}
	if port == "" {
		return "", "", false, errors.New("the port is empty")
	}
	return host, port, true, nil
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, errors.New("the port is not a number from 1 to 65535")
	}
	return uint16(n), nil
}

// String returns the text that was parsed.
func (p Pattern) String() string { return p.text }

// Allows reports whether p, as a pattern of an allow list, covers u.
func (p Pattern) Allows(u *URL) bool { return !u.blank && p.allows(u.site) }

// Denies reports whether p, as a pattern of a block list, covers u.
func (p Pattern) Denies(u *URL) bool { return !u.blank && p.denies(u.site, false) }

// allows matches host, scheme and port. If the scheme of s is unknown, as for a tunnel, it matches
// only host and port.
func (p Pattern) allows(s site) bool {
	if p.host == "" || (p.scheme != "" && s.scheme != "" && p.scheme != s.scheme) {
		return false
	}
	if p.port != 0 && p.port != s.port {
		return false
	}
	if p.subdomains {
		return isSubdomain(s.host, p.host)
	}
	return s.host == p.host
}

// denies matches the host and its subdomains, with any scheme and port. matchIfPathUnknown is the
// result for a pattern with a path if the path of s is unknown.
func (p Pattern) denies(s site, matchIfPathUnknown bool) bool {
	if p.host == "" {
		return false
	}
	under := isSubdomain(s.host, p.host)
	if !under && (p.subdomains || s.host != p.host) {
		return false
	}
	switch {
	case p.path == "":
		return true
	case s.path == "":
		return matchIfPathUnknown
	}
	return isAmbiguous(s.path) || p.below.MatchString(s.path)
}

func isSubdomain(host, parent string) bool {
	return len(host) > len(parent)+1 && strings.HasSuffix(host, parent) && host[len(host)-len(parent)-1] == '.'
}

func hasDotSegment(path string) bool {
	for seg := range strings.SplitSeq(path, "/") {
		switch strings.ReplaceAll(strings.ToLower(seg), "%2e", ".") {
		case ".", "..":
			return true
		}
	}
	return false
}

// parsePatterns parses a list of patterns. field is the name of the [Config] field.
func parsePatterns(field string, list []string) ([]Pattern, error) {
	var out []Pattern
	for _, s := range list {
		p, err := ParsePattern(s)
		if err != nil {
			return nil, &ConfigError{field, s, reason(err)}
		}
		out = append(out, p)
	}
	return out, nil
}

// reason words the error of a parser so that it can follow the quoted text that it is about.
func reason(err error) error {
	if t := err.Error(); strings.HasPrefix(t, "is ") || strings.HasPrefix(t, "has ") {
		return err
	}
	return fmt.Errorf("is not a pattern: %w", err)
}
