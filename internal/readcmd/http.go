package readcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/readable"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

const (
	// readTimeout bounds reading a page without a browser, with its redirects.
	readTimeout = 20 * time.Second
	// readRedirects is the maximum number of redirects, as in Chrome.
	readRedirects = 20
	// articleLength is the minimum length of the main content of a page with scripts that is read
	// without a browser, in bytes of markdown. The scripts may replace a shorter one.
	articleLength = 500
)

// A readPage is a page as markdown.
type readPage struct {
	URL       string `json:"url"` // after redirects
	Title     string `json:"title"`
	Markdown  string `json:"markdown"`
	Via       string `json:"via"`       // http or browser
	WholePage bool   `json:"wholePage"` // no main content could be identified
	Truncated bool   `json:"truncated"`
}

// An httpReader reads pages without a browser, under the policy of a guard. Its requests have no
// cookies.
type httpReader struct {
	guard          *policy.Guard
	version        string          // of the program
	proxy, noProxy string          // as --proxy and NO_PROXY
	certificates   []string        // servers whose certificates are not checked
	resolver       egress.Resolver // nil means the system's resolver
	log            *slog.Logger
}

// A needsBrowserError says why a page cannot be read without a browser.
type needsBrowserError string

func (e needsBrowserError) Error() string { return string(e) }

func needsBrowser(format string, args ...any) error {
	return needsBrowserError(fmt.Sprintf(format, args...))
}

// read reads a page. Each URL is checked against the policy before anything is sent, and each
// address by the egress proxy. It returns ErrPolicyDenied for a denial, ErrBadArgs for an invalid
// URL, and otherwise a needsBrowserError.
func (r *httpReader) read(ctx context.Context, raw string) (*readPage, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	proxy, err := egress.NewPrivate(nil, egress.Options{Policy: r.guard.Network(), NoProxy: r.noProxy, AcceptCertificates: r.certificates, Resolver: r.resolver, Logger: r.log}, r.proxy)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	transport.Proxy = http.ProxyURL(proxy.Client())
	transport.TLSClientConfig = proxy.ClientTLS()
	transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, req *http.Request, res *http.Response) error {
		return proxyDenial(req.Host, res)
	}
	for range readRedirects + 1 {
		page, next, err := r.hop(ctx, transport, raw)
		if err != nil || page != nil {
			return page, err
		}
		raw = next
	}
	return nil, needsBrowser("it redirects more than %d times", readRedirects)
}

// proxyDenial returns the error for a response of the egress proxy that denies a host, or nil.
func proxyDenial(host string, res *http.Response) error {
	if reason := res.Header.Get(egress.DeniedHeader); res.StatusCode == http.StatusForbidden && reason != "" {
		return executor.Errorf(executor.ErrPolicyDenied, "", "host %s is denied: %s", host, reason)
	}
	return nil
}

// hop requests one URL. It returns the page, or the target of a redirect.
func (r *httpReader) hop(ctx context.Context, transport http.RoundTripper, raw string) (page *readPage, next string, err error) {
	text, err := r.guard.Policy().CheckURL(raw)
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", executor.Errorf(executor.ErrBadArgs, "Give an absolute http or https URL.", "the URL is neither http nor https")
	}
	u.Fragment, u.RawFragment = "", ""
	if again, err := r.guard.Policy().CheckURL(u.String()); err != nil || again != u.String() {
		return nil, "", needsBrowser("its URL is unusual") // which could mean another one to this program
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", needsBrowser("its URL is unusual")
	}
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1")
	req.Header.Set("User-Agent", "chrome-mcp/"+strings.TrimPrefix(r.version, "v"))
	res, err := transport.RoundTrip(req)
	if denied, ok := errors.AsType[*executor.Error](err); ok {
		return nil, "", denied
	}
	if err != nil {
		return nil, "", needsBrowser("%s cannot be read without one", u.Host)
	}
	defer res.Body.Close()
	if u.Scheme == "http" { // of https, only the server can send a response inside TLS
		if err := proxyDenial(u.Host, res); err != nil {
			return nil, "", err
		}
	}
	switch status := res.StatusCode; {
	case status == http.StatusMovedPermanently, status == http.StatusFound, status == http.StatusSeeOther,
		status == http.StatusTemporaryRedirect, status == http.StatusPermanentRedirect:
		target, err := u.Parse(res.Header.Get("Location"))
		if err != nil || res.Header.Get("Location") == "" {
			return nil, "", needsBrowser("it has an invalid redirect")
		}
		return nil, target.String(), nil
	case status != http.StatusOK:
		return nil, "", needsBrowser("%s responded with status %d", u.Host, status)
	case res.Header.Get("Refresh") != "":
		return nil, "", needsBrowser("it loads another page")
	}
	page, err = pageOf(ctx, u.String(), res)
	return page, "", err
}

// pageOf returns the page in a response.
func pageOf(ctx context.Context, pageURL string, res *http.Response) (*readPage, error) {
	header := res.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(header)
	isHTML := kind == "text/html" || kind == "application/xhtml+xml"
	isText := isHTML || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml")
	if err != nil || !isText {
		return nil, needsBrowser("it is not a text")
	}
	if disposition, _, _ := mime.ParseMediaType(res.Header.Get("Content-Disposition")); disposition == "attachment" {
		return nil, needsBrowser("it is a download")
	}
	if !isHTML && !strings.Contains(header, "charset") {
		header = kind + "; charset=utf-8"
	}
	limited := &io.LimitedReader{R: res.Body, N: readable.MaxBytes + 1}
	body, err := charset.NewReader(limited, header)
	if err != nil {
		return nil, needsBrowser("its encoding is unknown")
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, needsBrowser("the connection was interrupted")
	}
	page := &readPage{URL: pageURL, Via: viaHTTP, Truncated: limited.N == 0 || len(data) > readable.MaxBytes}
	text := strings.ToValidUTF8(string(data[:min(len(data), readable.MaxBytes)]), "\uFFFD")
	if kind == "text/markdown" {
		page.Markdown, page.WholePage = text, true
		return page, nil
	}
	scripts, moves := false, false
	if isHTML {
		scripts, moves = scan(text)
	}
	if moves {
		return nil, needsBrowser("it loads another page")
	}
	converted, err := readable.ConvertIn(ctx, nil, kind, text, pageURL, readable.Options{})
	if err != nil {
		return nil, needsBrowser("it cannot be converted")
	}
	// Without scripts, the HTML is the page. With scripts, an article is unlikely to change.
	switch n := len(converted.Markdown); {
	case n == 0, scripts && (converted.WholePage || n < articleLength):
		return nil, needsBrowser("it needs scripts")
	}
	page.Title, page.Markdown, page.WholePage = converted.Title, converted.Markdown, converted.WholePage
	page.Truncated = page.Truncated || converted.Truncated
	return page, nil
}

// scan reports whether markup has scripts, and whether it loads another page by <meta>.
func scan(markup string) (scripts, moves bool) {
	z := html.NewTokenizer(strings.NewReader(markup))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return scripts, moves
		case html.StartTagToken, html.SelfClosingTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "script":
				kind, _, _ := strings.Cut(cmp.Or(attribute(z, "type"), "text/javascript"), ";")
				scripts = scripts || kind == "module" || strings.HasSuffix(kind, "javascript") || strings.HasSuffix(kind, "ecmascript")
			case "meta":
				moves = moves || attribute(z, "http-equiv") == "refresh"
			}
		}
	}
}

// attribute returns the value of an attribute of the current tag in lower case, without white space
// around it.
func attribute(z *html.Tokenizer, name string) string {
	for {
		key, value, more := z.TagAttr()
		if string(key) == name {
			return strings.ToLower(strings.TrimSpace(string(value)))
		}
		if !more {
			return ""
		}
	}
}
