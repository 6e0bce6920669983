package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// redirected adds to a policy denial that the denied site is the target of a redirect, if it is not
// the site of the URL that was to be loaded.
func (n *navigation) redirected(err error) error {
	e, ok := errors.AsType[*executor.Error](err)
	if n.url == "" || !ok || e.Code != executor.ErrPolicyDenied {
		return err
	}
	last := n.tab.reloadURL()
	if hostOf(last) == hostOf(n.url) || hostOf(last) == noHost {
		return err
	}
	redirect := *e
	redirect.Err = fmt.Errorf("%s redirects to another site, which is denied: %s", hostOf(n.url), e.Message())
	return &redirect
}

// netErrInvalidAuth is the network error of a document whose server requires a user name and
// password when none are available.
const netErrInvalidAuth = "net::ERR_INVALID_AUTH_CREDENTIALS"

// noteAuth is the note on such a document.
const noteAuth = "the server asks for a user name and password"

// failedURL returns the URL at which a navigation failed, which may be the target of a redirect.
func (n *navigation) failedURL() string {
	return cmp.Or(n.tab.responses.RequestedURL(), n.url)
}

// policyError returns the error of the network policy or of the gate if one of them prevented the
// document from loading. The gate did if the top document is the browser's error page for n and the
// gate does not allow reading it.
func (n *navigation) policyError(ctx context.Context) error {
	if n.tab.opts.ProxyError != nil {
		if err := n.tab.opts.ProxyError(hostOf(n.failedURL())); err != nil {
			return err
		}
	}
	s := n.tab.tree.Lock()
	d, f := s.BestKnownDocument(), s.Top()
	isErrorPage := f.UnreachableURL() != "" && f.Loader() == n.loader
	s.Unlock()
	if !isErrorPage {
		return nil
	}
	if err := n.v.client.Check(ctx, d, executor.OpRead, ""); errors.Is(err, executor.ErrPolicyDenied) {
		return err
	}
	return nil
}

// failureError returns the error of a failed navigation: the result of policyError if the policy
// denied it, otherwise an error for the network error.
func (n *navigation) failureError(ctx context.Context) error {
	if err := n.policyError(ctx); err != nil {
		return err
	}
	failure, hint, retryable := n.failure, "Check the URL.", true
	switch n.failure {
	case netErrInvalidAuth:
		return &executor.Error{Code: executor.ErrNavigationFailed, Hint: n.tab.obstacles.ofResponse(n.failedURL(), "", http.StatusUnauthorized).Advice,
			Err: fmt.Errorf("%s: HTTP status 401, %s", hostOf(n.failedURL()), noteAuth)}
	case netErrAborted:
		hint = "The page, the user or the end of the page's process may have aborted the navigation. Try again."
	case "net::ERR_BLOCKED_BY_CLIENT":
		hint, retryable = "An extension or a CDP client of the browser blocks it, or the user's block list. Ask the user, or use another site.", false
	case "net::ERR_NAME_NOT_RESOLVED":
		hint = "Check the host name."
	case "net::ERR_CONNECTION_REFUSED", "net::ERR_CONNECTION_RESET", "net::ERR_CONNECTION_TIMED_OUT", "net::ERR_EMPTY_RESPONSE":
		hint = "Check that the server is running, then try again."
	case "net::ERR_SSL_PROTOCOL_ERROR", "net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH":
		hint = "Check the scheme and the port: the server does not use https, or no version that the browser accepts."
	case "net::ERR_UNSAFE_PORT":
		hint, retryable = "Browsers block this port: use another one.", false
	case "net::ERR_INTERNET_DISCONNECTED", "net::ERR_NETWORK_CHANGED", "net::ERR_ADDRESS_UNREACHABLE":
		hint = "Check the network of this machine, then try again."
	case "net::ERR_TOO_MANY_REDIRECTS":
		hint, retryable = "Redirect loop. Try another URL of the site.", false
	case "net::ERR_HTTP_RESPONSE_CODE_FAILURE":
		failure = fmt.Sprintf("HTTP status %d, and no page", n.tab.responses.Newest().Status)
	case "net::ERR_SSL_CLIENT_AUTH_CERT_NEEDED", "net::ERR_BAD_SSL_CLIENT_AUTH_CERT":
		hint, retryable = "The site requires a certificate of the client. Ask the user, or use another site.", false
	case "net::ERR_SSL_PINNED_KEY_NOT_IN_CERT_CHAIN", "net::ERR_SSL_KEY_USAGE_INCOMPATIBLE", "net::ERR_SSL_SERVER_CERT_BAD_FORMAT":
		hint, retryable = hintCertificate, false
	default:
		switch {
		case strings.HasPrefix(n.failure, "net::ERR_CERT_"):
			hint, retryable = hintCertificate, false
		case strings.HasPrefix(n.failure, "net::ERR_SSL_"):
			hint = "The encrypted connection failed: check the host and the port, then try again."
		}
	}
	return &executor.Error{Code: executor.ErrNavigationFailed, Hint: hint, Retryable: retryable,
		Err: fmt.Errorf("%s could not be loaded: %s", hostOf(n.url), failure)}
}

// hintCertificate is the hint of a navigation that failed because of the site's certificate.
const hintCertificate = "The browser does not accept the site's certificate. Ask the user, or use another site."

// LoadFailure returns why the top document is an error page of the browser or of the egress proxy
// instead of the requested page, or nil if it is neither.
func (v *View) LoadFailure(ctx context.Context) error {
	s := v.tab.tree.Lock()
	f := s.Top()
	n := navigation{v: v, tab: v.tab, loader: f.Loader(), url: f.UnreachableURL(), failure: v.tab.responses.LastError()}
	s.Unlock()
	if n.url != "" {
		return n.failureError(ctx)
	}
	return n.proxyFailure()
}

// proxyFailure returns the error of the egress proxy if the top document is the proxy's own
// response. Over plain http, the proxy can report an error only as a page.
func (n *navigation) proxyFailure() error {
	t := n.tab
	s := t.tree.Lock()
	f := s.Top()
	loader, host := f.Loader(), hostOf(f.URL())
	s.Unlock()
	if !t.responses.Of(loader).Proxy || t.opts.ProxyError == nil {
		return nil
	}
	return t.opts.ProxyError(host)
}

// hostOf returns the host and port of a URL for messages, or noHost. The rest of a URL may contain
// secrets.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return noHost
	}
	return u.Host
}

// noHost is the result of hostOf for a URL without a host.
const noHost = "the page"
