package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// maxRedirects is how many redirects a fetch follows. Browsers follow 20;
// real downloads take two or three.
const maxRedirects = 10

// A Request says what [Dir.Fetch] fetches, and by whose leave.
type Request struct {
	// URL is an absolute http or https URL, without a user name.
	URL string

	// Check decides on each hop, the first one too, before anything is sent or
	// looked up for it: on the very string that is fetched. Required; without
	// one everything is denied.
	Check func(ctx context.Context, url string) error

	// Cookies returns the cookies that a browser would send to url. It is
	// asked for each hop, after Check; cookies that a hop sets are not sent to
	// the next one unless Cookies returns them. nil means none.
	Cookies func(ctx context.Context, url string) ([]*http.Cookie, error)

	// Transport makes each hop's request, and decides on addresses. It must
	// heed the request's context. Required: the default one goes past the
	// policy's wall.
	Transport http.RoundTripper

	// UserAgent is sent to each hop, unless empty.
	UserAgent string

	// Referer is the URL of the page that asks. What is sent of it is what
	// strict-origin-when-cross-origin lets through, the default of browsers:
	// all of it to its own origin, its origin to others, nothing from https to
	// http.
	Referer string

	// Name is the name that the file is to have; it is cleaned. If it is empty
	// the last response suggests one, or else its URL.
	Name string
}

// A Response tells of the response that a file came in.
type Response struct {
	URL           string // the final URL
	MIMEType      string // in lower case, without parameters; may be empty
	SuggestedName string // by the caller or the server, clean; the file's own name may be numbered
}

// Fetch downloads a URL into d. It follows up to ten redirects, each of them
// checked like the first URL; one from https to http is followed when Check
// allows it.
//
// ctx bounds all of it. Fetch returns ErrTimeout when ctx ends, ErrBadArgs for
// a URL that cannot be fetched, the error of Check (ErrPolicyDenied when that
// has no code), of Cookies or of Transport if it is an *executor.Error,
// ErrPolicyDenied where the filtering proxy refused, and else
// ErrDownloadFailed: for an HTTP status other than success, a connection that
// fails or breaks off, and all that [Dir.Save] says. An error names the host
// and nothing more of a URL, and repeats nothing that a server sent but the
// status code. On failure nothing is left in the folder.
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
	if err := d.fits(res.ContentLength); err != nil {
		return File{}, Response{}, err
	}
	info := Response{URL: hop.String(), MIMEType: mimeType(res.Header.Get("Content-Type"))}
	for _, name := range []string{req.Name, dispositionName(res.Header.Get("Content-Disposition"))} {
		if info.SuggestedName = clean(name); info.SuggestedName != "" {
			break
		}
	}
	info.SuggestedName = CleanName(info.SuggestedName, info.MIMEType, info.URL)
	file, err = d.Save(info.SuggestedName, &whole{ctx, res.Body, res.ContentLength})
	if err != nil {
		return File{}, Response{}, during(ctx, hop, err)
	}
	return file, info, nil
}

// A whole is a body that fails when it ends before its declared length, or
// when its context has ended, whatever its transport makes of that.
type whole struct {
	ctx  context.Context // of the one Fetch that reads it
	body io.Reader
	left int64 // negative if the length was not declared
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	declared := w.left >= 0
	w.left -= int64(n)
	switch ended := w.ctx.Err(); {
	case err == nil:
	case ended != nil:
		err = ended
	case err == io.EOF && declared && w.left > 0:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// follow requests one hop after another up to one that is no redirect, and
// returns that response, which is a success, and the URL it came from.
func (req Request) follow(ctx context.Context) (*http.Response, *url.URL, error) {
	hop, err := parseHop(req.URL)
	if err != nil {
		return nil, nil, executor.Errorf(executor.ErrBadArgs, "Give an absolute http or https URL.", "download URL %w", err)
	}
	referer := req.Referer
	for range maxRedirects + 1 {
		referer = refererFor(referer, hop)
		res, err := req.request(ctx, hop, referer)
		if err != nil {
			return nil, nil, err
		}
		if !redirects(res.StatusCode) {
			if err := accept(res, hop); err != nil {
				res.Body.Close()
				return nil, nil, err
			}
			return res, hop, nil
		}
		location := res.Header.Get("Location")
		res.Body.Close()
		next, err := nextHop(hop, location)
		if err != nil {
			return nil, nil, failed(false, "", "a redirect of %s leads nowhere: its target %w", hop.Host, err)
		}
		hop = next
	}
	return nil, nil, failed(false, "", "more than %d redirects, the last one to %s", maxRedirects, hop.Host)
}

// request asks for leave and cookies, and makes one hop's request.
func (req Request) request(ctx context.Context, hop *url.URL, referer string) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, during(ctx, hop, err)
	}
	if req.Check == nil {
		return nil, executor.Errorf(executor.ErrPolicyDenied, "", "host %s is denied: there is no policy", hop.Host)
	}
	if req.Transport == nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "download without a transport")
	}
	if err := req.Check(ctx, hop.String()); err != nil {
		return nil, denied(ctx, hop, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, hop.String(), nil)
	if err != nil {
		return nil, failed(false, "", "request to %s could not be made", hop.Host)
	}
	if req.Cookies != nil {
		cookies, err := req.Cookies(ctx, hop.String())
		if err != nil {
			return nil, during(ctx, hop, err)
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
		return nil, during(ctx, hop, err)
	}
	return res, nil
}

// parseHop parses a URL that is to be fetched. The URL that is checked and
// the one that is fetched are the same: both are its serialised form, and
// what Go and others would read differently is refused.
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

// nextHop returns where a redirect from hop leads.
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

// redirects reports whether a response of this status is a redirect that can
// be followed.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// refererFor returns what of referer may be sent to hop.
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

// cookieHeader writes cookies as a browser does. http.Request.AddCookie would
// leave out quotes and all that is not ASCII, which real values contain.
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
			continue // it would become two, or another header
		}
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, "; ")
}

// mimeType returns the type in a Content-Type header, or "" where that is
// not one: it is shown to a model, so it must not be a sentence.
func mimeType(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil || len(kind) > 100 || strings.Count(kind, "/") != 1 {
		return ""
	}
	return kind
}

// accept returns the error of a response that holds no file, else nil.
func accept(res *http.Response, hop *url.URL) error {
	switch status := res.StatusCode; {
	case status == http.StatusForbidden && hop.Scheme == "http" && res.Header.Get(deniedHeader) != "":
		return executor.Errorf(executor.ErrPolicyDenied, "", "host %s is denied: %s", hop.Host, pagetext.Text(sentence(res.Header.Get(deniedHeader))))
	case status == http.StatusNoContent, status == http.StatusResetContent, status == http.StatusPartialContent, status < 200, status > 299:
		// The server's own phrase may say anything.
		phrase := http.StatusText(status)
		if phrase != "" {
			phrase = " " + phrase
		}
		return failed(status >= 500 || status == http.StatusTooManyRequests, "", "%s answered %s", hop.Host, fmt.Sprint(status)+phrase)
	}
	return nil
}
