package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// maxRedirects limits the redirects of one fetch. Browsers follow 20; real downloads need two or
// three.
const maxRedirects = 10

// A Request describes a download of [Dir.Fetch].
type Request struct {
	// URL is an absolute http or https URL, without a user name.
	URL string

	// Check decides on each hop, including the first, before its name is resolved or anything is
	// sent. url is exactly the string that is fetched. Check is required: without it, every URL is
	// denied.
	Check func(ctx context.Context, url string) error

	// Cookies returns the cookies that a browser would send to url. It is called for each hop,
	// after Check. Cookies that a hop sets are sent to the next hop only if Cookies returns them.
	// nil means no cookies.
	Cookies func(ctx context.Context, url string) ([]*http.Cookie, error)

	// Transport sends the request of each hop, and decides on addresses. It must respect the
	// request's context. Transport is required: http.DefaultTransport would bypass the policy.
	Transport http.RoundTripper

	// UserAgent is sent to each hop if it is not empty.
	UserAgent string

	// Referer is the URL of the page that starts the download. It is sent by the default policy of
	// browsers, strict-origin-when-cross-origin: the complete URL to the same origin, only the
	// origin to other origins, and nothing from https to http.
	Referer string

	// Name is the name for the file, which is cleaned. If it is empty, the name comes from the last
	// response, or otherwise from its URL.
	Name string
}

// A Response describes the response that contained a file.
type Response struct {
	URL           string // the final URL
	MIMEType      string // in lower case, without parameters; may be empty
	SuggestedName string // from the caller or the server, cleaned; the name of the file may have a number added
}

// Fetch downloads a URL into d. It follows up to ten redirects, each of which is checked like the
// first URL. It follows a redirect from https to http if Check allows it.
//
// ctx bounds the complete download. Fetch returns ErrTimeout when ctx ends, ErrBadArgs for a URL
// that cannot be fetched, and ErrPolicyDenied if Check returns an error without a code or if the
// egress proxy denies a hop. It returns an *errs.Error of Check, Cookies or Transport
// unchanged. All other errors are ErrDownloadFailed: an HTTP status other than success, a
// connection that fails or is interrupted, and the errors of [Dir.Save]. Errors contain the host
// but no other part of a URL, and of the server's response only the status code. A failed download
// leaves no file in the directory.
func (d *Dir) Fetch(ctx context.Context, req Request) (File, Response, error) {
	share, err := d.all.Begin()
	if err != nil {
		return File{}, Response{}, err
	}
	var file File
	defer func() { share.End(file) }()
	res, hop, err := req.follow(ctx)
	if err != nil {
		return File{}, Response{}, err
	}
	defer res.Body.Close()
	if err := checkSize(res.ContentLength, d.max, share); err != nil {
		return File{}, Response{}, err
	}
	info := Response{URL: hop.String(), MIMEType: mimeType(res.Header.Get("Content-Type"))}
	name := cmp.Or(clean(req.Name), dispositionName(res.Header.Get("Content-Disposition")))
	info.SuggestedName = CleanName(name, info.MIMEType, info.URL)
	file, err = d.save(info.SuggestedName, &lengthCheckedReader{ctx, res.Body, res.ContentLength}, share)
	if err != nil {
		return File{}, Response{}, fetchError(ctx, hop, err)
	}
	return file, info, nil
}

// A lengthCheckedReader is a response body whose Read fails if the body ends before its declared
// length or if ctx has ended, even if the transport returns io.EOF.
type lengthCheckedReader struct {
	ctx  context.Context // of the one Fetch that reads it
	body io.Reader
	left int64 // negative if the length was not declared
}

func (r *lengthCheckedReader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	declared := r.left >= 0
	r.left -= int64(n)
	switch ended := r.ctx.Err(); {
	case err == nil:
	case ended != nil:
		err = ended
	case err == io.EOF && declared && r.left > 0:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// follow requests one hop after another until a response is not a redirect. It returns this
// response, which is successful, and its URL.
func (req Request) follow(ctx context.Context) (*http.Response, *url.URL, error) {
	hop, err := parseHop(req.URL)
	if err != nil {
		return nil, nil, errs.Errorf(errs.ErrBadArgs, "Give an absolute http or https URL.", "download URL %w", err)
	}
	referer := req.Referer
	for range maxRedirects + 1 {
		referer = refererFor(referer, hop)
		res, err := req.request(ctx, hop, referer)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(redirects, res.StatusCode) {
			if err := checkStatus(res, hop); err != nil {
				res.Body.Close()
				return nil, nil, err
			}
			return res, hop, nil
		}
		location := res.Header.Get("Location")
		res.Body.Close()
		next, err := nextHop(hop, location)
		if err != nil {
			return nil, nil, failed(false, "invalid redirect from %s: target %w", hop.Host, err)
		}
		hop = next
	}
	return nil, nil, failed(false, "more than %d redirects, the last one to %s", maxRedirects, hop.Host)
}

// request checks one hop, gets its cookies and sends its request.
func (req Request) request(ctx context.Context, hop *url.URL, referer string) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, fetchError(ctx, hop, err)
	}
	if req.Check == nil {
		return nil, errs.Errorf(errs.ErrPolicyDenied, "", "host %s is denied: no policy is set", hop.Host)
	}
	if req.Transport == nil {
		return nil, errs.Errorf(errs.ErrInternal, "", "download without a transport")
	}
	if err := req.Check(ctx, hop.String()); err != nil {
		return nil, denied(ctx, hop, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, hop.String(), nil)
	if err != nil {
		return nil, failed(false, "creating the request to %s failed", hop.Host)
	}
	if req.Cookies != nil {
		cookies, err := req.Cookies(ctx, hop.String())
		if err != nil {
			return nil, fetchError(ctx, hop, err)
		}
		if header := cookieHeader(cookies); header != "" {
			r.Header.Set("Cookie", header)
		}
	}
	if req.UserAgent != "" {
		r.Header.Set("User-Agent", req.UserAgent)
	}
	if referer != "" {
		r.Header.Set("Referer", referer)
	}
	r.Header.Set("Accept", "*/*")
	res, err := req.Transport.RoundTrip(r)
	if err != nil {
		return nil, fetchError(ctx, hop, err)
	}
	return res, nil
}

// parseHop parses a URL to fetch. The checked and the fetched URL are the same: both are its
// serialized form. parseHop rejects URLs that Go and other parsers would read differently.
func parseHop(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("is malformed")
	}
	u.Fragment, u.RawFragment = "", ""
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("is neither http nor https")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("has a user name")
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '%' || r == '\\' }):
		return nil, errors.New("has a host that is not plain ASCII")
	}
	again, err := url.Parse(u.String())
	if err != nil || again.Host != u.Host || again.String() != u.String() {
		return nil, errors.New("is ambiguous")
	}
	return again, nil
}

// nextHop returns the target of a redirect from hop.
func nextHop(hop *url.URL, location string) (*url.URL, error) {
	if location == "" {
		return nil, errors.New("is missing")
	}
	target, err := hop.Parse(location)
	if err != nil {
		return nil, errors.New("is malformed")
	}
	return parseHop(target.String())
}

// redirects are the statuses of redirects that can be followed.
var redirects = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// refererFor returns the part of referer that may be sent to hop.
func refererFor(referer string, hop *url.URL) string {
	from, err := url.Parse(referer)
	if err != nil || from.Host == "" || from.Scheme != "http" && from.Scheme != "https" {
		return ""
	}
	switch {
	case from.Scheme == "https" && hop.Scheme == "http":
		return ""
	case from.Scheme == hop.Scheme && strings.EqualFold(from.Host, hop.Host):
		from.User, from.Fragment, from.RawFragment = nil, "", ""
		return from.String()
	}
	return from.Scheme + "://" + from.Host + "/"
}

// cookieHeader serializes cookies as a browser does. http.Request.AddCookie would remove quotes and
// non-ASCII characters, which real values contain.
func cookieHeader(cookies []*http.Cookie) string {
	var pairs []string
	for _, c := range cookies {
		value := c.Value
		if c.Quoted {
			value = `"` + value + `"`
		}
		pair := value
		if c.Name != "" {
			pair = c.Name + "=" + value
		}
		if pair == "" || strings.ContainsFunc(pair, func(r rune) bool { return r < ' ' || r == 0x7f || r == ';' }) {
			continue // it would be read as two cookies or as another header
		}
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, "; ")
}

// mimeType returns the type in a Content-Type header, or "" if it is invalid: results contain the
// type, so it must not be an arbitrary text.
func mimeType(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil || len(kind) > 100 || strings.Count(kind, "/") != 1 {
		return ""
	}
	return kind
}

// checkStatus returns an error for a response that contains no file.
func checkStatus(res *http.Response, hop *url.URL) error {
	switch status := res.StatusCode; {
	case status == http.StatusForbidden && hop.Scheme == "http" && res.Header.Get(deniedHeader) != "":
		return errs.Errorf(errs.ErrPolicyDenied, hintDenied, "host %s is denied: %s", hop.Host, pagetext.Text(sentence(res.Header.Get(deniedHeader))))
	case status == http.StatusNoContent, status == http.StatusResetContent, status == http.StatusPartialContent, status < 200, status > 299:
		// The server's own phrase is an arbitrary text.
		answer := strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status)))
		hint, retryable := "Check the URL, and open the page that links to it: the site may require a login.", false
		if status >= 500 || status == http.StatusTooManyRequests {
			hint, retryable = "Try again later.", true
		}
		return &errs.Error{Code: errs.ErrDownloadFailed, Retryable: retryable, Hint: hint, Err: fmt.Errorf("%s responded with %s", hop.Host, answer)}
	}
	return nil
}
