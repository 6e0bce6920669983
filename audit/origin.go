package audit

import (
	"net/url"
	"strings"
)

// maxOrigin is longer than the longest name of a host with scheme and port.
const maxOrigin = 300

// Origin returns what an [Entry] tells of a URL: scheme, host and port of an
// http or https URL and nothing else of it, the scheme alone of others, and ""
// of what is no URL.
func Origin(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme == "" {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "ws", "wss":
	case "blob":
		if inner := Origin(u.Opaque); inner != "" {
			return inner
		}
		return "blob:"
	default:
		if len(u.Scheme) > 20 {
			return ""
		}
		return u.Scheme + ":"
	}
	if u.Host == "" || strings.ContainsFunc(u.Host, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return ""
	}
	origin := u.Scheme + "://" + u.Host
	return origin[:min(len(origin), maxOrigin)]
}
