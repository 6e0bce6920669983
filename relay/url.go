package relay

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// blankURL is the only URL that is not http or https and that a client can load.
const blankURL = "about:blank"

// checkURL checks a URL that a client wants to load. It returns the URL as a browser serializes it,
// also if the policy denies it.
func (s *Server) checkURL(raw string) (string, error) {
	raw = strings.Trim(raw, " \t\r\n")
	if raw == blankURL {
		return raw, nil
	}
	const inFull = "Write it in full, as in https://example.com/."
	u, err := url.Parse(raw)
	if err != nil || strings.ContainsAny(raw, "\\\t\r\n\x00") {
		return "", executor.Errorf(executor.ErrBadArgs, inFull, "the URL is malformed")
	}
	switch {
	case u.Scheme == "":
		return "", executor.Errorf(executor.ErrBadArgs, inFull, "the URL has no scheme")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", denied("Only http and https URLs and about:blank are allowed.", "the scheme of the URL is not allowed")
	case u.Host == "" || u.Opaque != "":
		return "", executor.Errorf(executor.ErrBadArgs, inFull, "the URL has no host")
	case u.User != nil:
		return "", denied("Remove the user name and password before the @.", "the URL has a user name or password")
	}
	u.Host = strings.ToLower(u.Host)
	if port := u.Port(); port == defaultPort(u.Scheme) || port == "" {
		u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, ":"+port), ":")
	}
	u = u.ResolveReference(u) // resolves . and ..
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = escapeQuery(u.RawQuery)
	address := u.String()
	return address, s.opts.Policy.CheckDocument(address)
}

// escapeQuery percent-encodes what a browser encodes in a query.
func escapeQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>'#`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

func isHTTP(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// checkResource returns why a client cannot read a resource with a URL that the browser reports, or
// nil.
func (s *Server) checkResource(url string) error {
	url = strings.TrimPrefix(url, "blob:")
	if rest, ok := strings.CutPrefix(url, "ws"); ok &&
		(strings.HasPrefix(rest, "://") || strings.HasPrefix(rest, "s://")) {
		url = "http" + rest
	}
	switch {
	case isHTTP(url):
		return s.opts.Policy.CheckDocument(url)
	case url == "", strings.HasPrefix(url, "about:"), strings.HasPrefix(url, "data:"), strings.HasPrefix(url, "null/"): // of a document of the client
		return nil
	}
	return denied("Read resources of http and https URLs.", "resources of this scheme cannot be read")
}

// checkOrigin checks an origin or a storage key.
func (s *Server) checkOrigin(origin string) error {
	origin, _, _ = strings.Cut(origin, "^") // the partition of a storage key follows
	u, err := url.Parse(origin)
	if err != nil || !isHTTP(origin) || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" || u.Fragment != "" {
		return denied("Name the origin of a site that the policy allows, as in https://example.com.",
			"the origin or storage key is not that of a site")
	}
	return s.opts.Policy.CheckDocument(u.Scheme + "://" + u.Host + "/")
}

// allowsHost reports whether the policy allows the host that the headers of a request name.
func (s *Server) allowsHost(headers map[string]any) bool {
	host := ""
	for name, value := range headers {
		if v, ok := value.(string); ok && (name == ":authority" || strings.EqualFold(name, "Host")) {
			if host != "" && host != v {
				return false
			}
			host = v
		}
	}
	if host == "" || strings.ContainsAny(host, "/?#@\\ ") {
		return false
	}
	return s.opts.Policy.CheckDocument("https://"+strings.TrimSuffix(host, ":443")+"/") == nil ||
		s.opts.Policy.CheckDocument("http://"+strings.TrimSuffix(host, ":80")+"/") == nil
}
