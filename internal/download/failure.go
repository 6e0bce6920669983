package download

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// deniedHeader is set on a 403 response of the egress proxy (internal/egress). Its value is the
// reason. It is ignored for https, because only the server can send a response inside TLS.
const deniedHeader = "X-Chrome-MCP-Denied"

// maxReason limits a reason from a header, in bytes.
const maxReason = 200

// redactedError is an error that wraps its cause without showing the cause's text: errors of the
// net packages contain URLs and data from servers.
type redactedError struct {
	text string
	err  error
}

func (e redactedError) Error() string { return e.text }
func (e redactedError) Unwrap() error { return e.err }

// failed returns an ErrDownloadFailed.
func failed(retryable bool, format string, args ...any) error {
	e := errs.Errorf(errs.ErrDownloadFailed, "", format, args...)
	e.Retryable = retryable
	return e
}

// hintDenied is the hint for a host whose denial has no hint.
const hintDenied = "Use another URL. Only the user can allow this host."

// denied is the error of a hop that Check denies.
func denied(ctx context.Context, hop *url.URL, err error) error {
	var e *errs.Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return fetchError(ctx, hop, ctx.Err())
	}
	return &errs.Error{Code: errs.ErrPolicyDenied, Hint: hintDenied, Err: redactedError{"host " + hop.Host + " is denied", err}}
}

// fetchError is the error of a failed fetch of hop.
func fetchError(ctx context.Context, hop *url.URL, err error) error {
	var e *errs.Error
	ended := ctx.Err()
	switch {
	// Do not return an *errs.Error, for example of Save, that only reports the end of ctx.
	case errors.As(err, &e) && (ended == nil || !errors.Is(err, ended)):
		return e
	case errors.Is(ended, context.DeadlineExceeded):
		return &errs.Error{Code: errs.ErrTimeout, Retryable: true, Hint: errs.HintMoreTime,
			Err: redactedError{"download from " + hop.Host + " took too long", ended}}
	case ended != nil:
		return &errs.Error{Code: errs.ErrTimeout, Retryable: true,
			Err: redactedError{"download from " + hop.Host + " was canceled", ended}}
	}
	retryable, hint := true, "Check the URL, then try again."
	if untrusted(err) {
		retryable, hint = false, "Ask the user, or use a server whose certificate is trusted."
	}
	return &errs.Error{Code: errs.ErrDownloadFailed, Retryable: retryable, Hint: hint,
		Err: redactedError{hop.Host + " could not be fetched: " + networkErrorText(err), err}}
}

// untrusted reports whether err is about the certificate of a server.
func untrusted(err error) bool {
	var (
		cert      *tls.CertificateVerificationError
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
	)
	return errors.As(err, &cert) || errors.As(err, &hostname) || errors.As(err, &authority)
}

// networkErrorText describes a network error in fixed text.
func networkErrorText(err error) string {
	var (
		dns     *net.DNSError
		timeout net.Error
	)
	switch {
	case errors.As(err, &dns):
		return "its name could not be resolved"
	case untrusted(err):
		return "its certificate is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was interrupted"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it did not respond in time"
	case errors.Is(err, fs.ErrClosed):
		return "the connection was closed"
	}
	return "the connection failed"
}

// sentence returns text from a header in a form that can be part of an error: one short line of
// visible characters.
func sentence(text string) string {
	text = strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}
