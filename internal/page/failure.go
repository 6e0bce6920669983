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
	walls "github.com/chrome-mcp/chrome-mcp/internal/obstacle"
)

// redirected makes clear that a refusal is not of the URL that was to be
// loaded, but of where that led.
func (v *View) redirected(n *navigated, err error) error {
	var e *executor.Error
	if n.url == "" || !errors.As(err, &e) || e.Code != executor.ErrPolicyDenied {
		return err
	}
	last := v.itself()
	if hostOf(last) == hostOf(n.url) || hostOf(last) == noHost {
		return err
	}
	told := *e
	told.Err = fmt.Errorf("%s redirects to another site, which is refused: %s", hostOf(n.url), e.Message())
	return &told
}

// refusal returns why the gate does not let the top document be read when that
// is the browser's error page for n: what failed is where the tab may not go,
// and that it was blocked on its way is no failure of the network's. nil when
// it is another document, or may be read.
func (v *View) refusal(ctx context.Context, n *navigated) error {
	t := v.tab
	t.mu.Lock()
	d, f := t.known(), t.frames[t.main]
	there := f.unreachable != "" && f.loader == n.loader
	t.mu.Unlock()
	if !there {
		return nil
	}
	err := v.check(ctx, d, executor.OpRead, "")
	if errors.Is(err, executor.ErrPolicyDenied) {
		return err
	}
	return nil
}

// authRefused is the network's error for a document whose server requires a user
// name and password when none are available.
const authRefused = "net::ERR_INVALID_AUTH_CREDENTIALS"

const noteAuth = "the server asks for a user name and password"

// asked returns the URL at which a navigation failed, which may be the target of
// a redirect.
func (v *View) asked(n *navigated) string {
	v.tab.mu.Lock()
	defer v.tab.mu.Unlock()
	return cmp.Or(v.tab.asked, n.url)
}

// withheld returns the error of the network policy or of the gate if one of them
// prevented the document from loading.
func (v *View) withheld(ctx context.Context, n *navigated) error {
	if v.tab.opts.Failure != nil {
		if err := v.tab.opts.Failure(hostOf(v.asked(n))); err != nil {
			return err
		}
	}
	return v.refusal(ctx, n)
}

// navigationError returns the error of a failed navigation: the error of withheld
// if the policy denied it, otherwise an error for the network's error.
func (v *View) navigationError(ctx context.Context, n *navigated) error {
	if err := v.withheld(ctx, n); err != nil {
		return err
	}
	hint, retryable := "Check the URL.", true
	switch n.failure {
	case authRefused:
		return &executor.Error{Code: executor.ErrNavigationFailed, Hint: walls.FromResponse(v.asked(n), "", http.StatusUnauthorized).Advice,
			Err: fmt.Errorf("%s: HTTP status 401, %s", hostOf(v.asked(n)), noteAuth)}
	case aborted:
		hint = "Something ended the navigation before there was a document: the page itself, or the end of its process. Try again."
	case "net::ERR_BLOCKED_BY_CLIENT":
		hint, retryable = "The browser's user blocks it: by the block list of the chrome-mcp extension, or by another extension.", false
	case "net::ERR_NAME_NOT_RESOLVED":
		hint = "Check the host name."
	case "net::ERR_CONNECTION_REFUSED", "net::ERR_CONNECTION_RESET", "net::ERR_CONNECTION_TIMED_OUT", "net::ERR_EMPTY_RESPONSE":
		hint = "Check that the server runs there, then try again."
	case "net::ERR_SSL_PROTOCOL_ERROR", "net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH":
		hint = "Check the scheme and the port: what answers there does not speak https, or none that the browser takes."
	case "net::ERR_UNSAFE_PORT":
		hint, retryable = "Browsers open no pages on this port, which is another protocol's.", false
	case "net::ERR_INTERNET_DISCONNECTED", "net::ERR_NETWORK_CHANGED", "net::ERR_ADDRESS_UNREACHABLE":
		hint = "Check the network of this machine, then try again."
	case "net::ERR_TOO_MANY_REDIRECTS":
		hint, retryable = "The site sends the browser round in a circle; another URL of it may work.", false
	case "net::ERR_HTTP_RESPONSE_CODE_FAILURE":
		hint = fmt.Sprintf("The server answered with HTTP status %d and no page.", v.answered())
	default:
		if strings.HasPrefix(n.failure, "net::ERR_CERT_") || strings.HasPrefix(n.failure, "net::ERR_SSL_") {
			hint = "The site's certificate is not accepted by the browser."
		}
	}
	return &executor.Error{Code: executor.ErrNavigationFailed, Hint: hint, Retryable: retryable,
		Err: fmt.Errorf("%s could not be loaded: %s", hostOf(n.url), n.failure)}
}

// LoadFailure is for whoever waits for what a click led to: it returns why the
// page that it led to did not load.
func (v *View) LoadFailure(ctx context.Context) error { return v.loadFailure(ctx) }

// loadFailure returns why the top document is not the page that it should be:
// the browser's error page or an answer of the filtering proxy stands for it.
func (v *View) loadFailure(ctx context.Context) error {
	t := v.tab
	t.mu.Lock()
	f := t.frames[t.main]
	n := navigated{loader: f.loader, url: f.unreachable, failure: t.failed}
	t.mu.Unlock()
	if n.url != "" {
		return v.navigationError(ctx, &n)
	}
	return v.proxyFailure()
}

// proxyFailure returns the error that the filtering proxy answered with in
// place of the top document: over plain http it can only do so by a page.
func (v *View) proxyFailure() error {
	t := v.tab
	t.mu.Lock()
	f := t.frames[t.main]
	r, host := t.status[f.loader], hostOf(f.url)
	t.mu.Unlock()
	if !r.proxy || t.opts.Failure == nil {
		return nil
	}
	return t.opts.Failure(host)
}

// hostOf returns the host and port of a URL, for messages: the rest of a URL
// may hold secrets.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return noHost
	}
	return u.Host
}

// noHost is what hostOf calls a page whose URL has no host.
const noHost = "the page"
