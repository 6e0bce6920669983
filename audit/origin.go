package audit

import (
	"net/url"
	"strings"
)

// maxOrigin is the maximum length of an origin, in bytes. It exceeds the longest host name with
// scheme and port.
const maxOrigin = 300

// Origin returns the part of a URL that an [Entry] may contain: scheme, host and port of an http,
// https, ws or wss URL, the inner origin of a blob URL, and only the scheme of other URLs. It
// returns "" if the URL is invalid.
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
