package chromium

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/fetch"
)

// HTTPCredentials are the user name and the password for HTTP authentication.
type HTTPCredentials struct{ Username, Password string }

// String returns a text without the user name and the password.
func (HTTPCredentials) String() string { return "(HTTP credentials)" }

// GoString returns a text without the user name and the password.
func (c HTTPCredentials) GoString() string { return c.String() }

// exactFilter returns the URL filter, in the format of Chromium's policies, that matches an origin.
// Without the dot it would also match subdomains, and without a port all ports.
func exactFilter(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin // matches nothing
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPorts[u.Scheme]))
	if _, err := netip.ParseAddr(u.Hostname()); err != nil {
		address = "." + address
	}
	return u.Scheme + "://" + address
}

// maxAnswered is the number of requests whose challenge was answered that a documentFilter remembers.
const maxAnswered = 256

// handleChallenge answers a challenge of HTTP authentication. The browser stores accepted
// credentials until it exits, and sends them to their origin only.
func (d *documentFilter) handleChallenge(e fetch.EventAuthRequired) {
	answer := d.answerChallenge(e)
	d.in.conn.BrowserSession().Start(context.Background(), "Fetch.continueWithAuth", map[string]any{"requestId": e.RequestID, "authChallengeResponse": answer})
}

// answerChallenge returns the answer to a challenge.
func (d *documentFilter) answerChallenge(e fetch.EventAuthRequired) *fetch.AuthChallengeResponse {
	if e.AuthChallenge == nil || e.AuthChallenge.Source != fetch.AuthChallengeSourceServer {
		return &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseDefault} // of a proxy
	}
	c, ok := d.in.opts.HTTPCredentials[e.AuthChallenge.Origin]
	scheme := strings.ToLower(e.AuthChallenge.Scheme)
	switch {
	case !ok || scheme != "basic" && scheme != "digest":
		return &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
	case slices.Contains(d.answered, e.RequestID): // the server asks again
		d.in.backend.log.Warn("HTTP credentials rejected", "origin", e.AuthChallenge.Origin)
		return &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
	}
	if d.answered = append(d.answered, e.RequestID); len(d.answered) > maxAnswered {
		d.answered = slices.Delete(d.answered, 0, 1)
	}
	return &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: c.Username, Password: c.Password}
}

// A basicAuthTransport sends the credentials of an origin to a server that asks for them with the
// scheme Basic.
type basicAuthTransport struct {
	http.RoundTripper
	credentials map[string]HTTPCredentials
}

// RoundTrip implements http.RoundTripper for requests without a body.
func (t *basicAuthTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized || !asksForBasic(res) {
		return res, err
	}
	c, ok := t.credentials[originOf(req.URL)]
	if !ok {
		return res, nil
	}
	res.Body.Close()
	req = req.Clone(req.Context())
	req.SetBasicAuth(c.Username, c.Password)
	return t.RoundTripper.RoundTrip(req)
}

// asksForBasic reports whether a response has a challenge with the scheme Basic.
func asksForBasic(res *http.Response) bool {
	return slices.ContainsFunc(res.Header.Values("WWW-Authenticate"), func(challenge string) bool {
		scheme, _, _ := strings.Cut(challenge, " ")
		return strings.EqualFold(scheme, "Basic")
	})
}

// originOf returns the origin of a URL as browsers serialize it.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := ":" + defaultPorts[u.Scheme]; port != ":" {
		host = strings.TrimSuffix(host, port)
	}
	return u.Scheme + "://" + host
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}
