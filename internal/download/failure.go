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

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// deniedHeader is on a 403 of the filtering proxy (internal/egress), and tells
// its reason. It means nothing on https: inside of TLS only the server speaks.
const deniedHeader = "X-Chrome-MCP-Denied"

// maxReason bounds, in bytes, a reason that came in a header.
const maxReason = 200

// quiet is an error whose cause can be asked about but is not told: texts of
// the net packages repeat URLs and what servers sent.
type quiet struct {
	text string
	err  error
}

func (q quiet) Error() string { return q.text }
func (q quiet) Unwrap() error { return q.err }

// failed returns an ErrDownloadFailed.
func failed(retryable bool, hint, format string, args ...any) *executor.Error {
	e := executor.Errorf(executor.ErrDownloadFailed, hint, format, args...)
	e.Retryable = retryable
	return e
}

// denied is the error of a hop that Check refuses.
func denied(ctx context.Context, hop *url.URL, err error) error {
	var e *executor.Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return during(ctx, hop, ctx.Err())
	}
	return &executor.Error{Code: executor.ErrPolicyDenied, Err: quiet{"host " + hop.Host + " is denied", err}}
}

// during is the error of what failed while hop was fetched.
func during(ctx context.Context, hop *url.URL, err error) error {
	var e *executor.Error
	ended := ctx.Err()
	switch {
	// A report of Save, say, that is only about the end of ctx is not one to
	// keep.
	case errors.As(err, &e) && (ended == nil || !errors.Is(err, ended)):
		return e
	case errors.Is(ended, context.DeadlineExceeded):
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Hint: executor.HintMoreTime,
			Err: quiet{"download from " + hop.Host + " took too long", ended}}
	case ended != nil:
		return &executor.Error{Code: executor.ErrTimeout, Retryable: true, Hint: "The call was cancelled.",
			Err: quiet{"download from " + hop.Host + " was cancelled", ended}}
	}
	e = failed(true, "", "%s could not be fetched: %s", hop.Host, plainly(err))
	e.Err = quiet{e.Err.Error(), err}
	return e
}

// plainly says what went wrong on the network, in words of our own.
func plainly(err error) string {
	var (
		dns       *net.DNSError
		cert      *tls.CertificateVerificationError
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
		timeout   net.Error
	)
	switch {
	case errors.As(err, &dns):
		return "its name could not be resolved"
	case errors.As(err, &cert), errors.As(err, &hostname), errors.As(err, &authority):
		return "its certificate is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refused the connection"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was cut"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	case errors.Is(err, fs.ErrClosed):
		return "the connection was closed"
	}
	return "the connection failed"
}

// sentence makes text that came in a header fit for an error: one short line
// of what can be seen.
func sentence(text string) string {
	text = strings.Map(func(r rune) rune {
		if hidden(r) {
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
