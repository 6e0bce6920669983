package namedbrowser

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

// maxHeaders limits the headers of an endpoint, in bytes.
const maxHeaders = 64 << 10

// endpointBrowsers are running browsers that chrome-mcp attaches to.
func endpointBrowsers() kind {
	return kind{
		name: Endpoint,
		keys: []key{
			{name: "url", usage: "its DevTools URL (http or ws), or auto, chrome, edge, brave or chromium for a running browser of this machine", required: true,
				field: func(b *Browser) any { return &b.URL },
				check: CheckEndpoint},
			{name: "attach-default-context", usage: "use the default browser context, with its tabs and logins",
				field: func(b *Browser) any { return &b.DefaultContext }},
			{name: "headers-file", usage: "file with headers of the requests to url, one NAME: VALUE per line, that only you can access", file: true,
				field: func(b *Browser) any { return &b.HeadersFile }},
			{name: "headers-env", usage: "environment variable with such headers, of the program that attaches to the browser",
				field: func(b *Browser) any { return &b.HeadersEnv }},
			colorKey(),
		},
		check: func(b *Browser) error {
			if b.HeadersFile != "" && b.HeadersEnv != "" {
				return errors.New("headers-file and headers-env are mutually exclusive")
			}
			return nil
		},
	}
}

// Headers reads the headers of the requests to the endpoint. Errors do not contain them.
func (b *Browser) Headers() (http.Header, error) {
	from, text := "environment variable "+b.HeadersEnv, os.Getenv(b.HeadersEnv)
	if b.HeadersFile != "" {
		data, err := owneronly.ReadFile(b.HeadersFile, maxHeaders)
		if err != nil {
			return nil, executor.Errorf(executor.ErrLaunchFailed, "The user can correct the file.", "headers of browser %s: %w", b.Name, err)
		}
		from, text = b.HeadersFile, string(data)
	}
	header, err := parseHeaders(text)
	if err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, "The user can correct it.", "headers of browser %s: %s %w", b.Name, from, err)
	}
	return header, nil
}

// parseHeaders returns the headers in a text with one of them per line.
func parseHeaders(text string) (http.Header, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("has no headers")
	}
	for n, line := range strings.Split(text, "\n") {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\r"), ":")
		if !ok || name == "" || strings.TrimSpace(value) == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("line %d is not NAME: VALUE", n+1)
		}
	}
	header, err := textproto.NewReader(bufio.NewReader(strings.NewReader(text + "\r\n\r\n"))).ReadMIMEHeader()
	if err != nil {
		return nil, errors.New("is not a list of headers, one NAME: VALUE per line") // err contains a line
	}
	return http.Header(header), nil
}

// CheckEndpoint returns what is wrong with the URL of an endpoint, or nil. It can be the name of a
// running browser instead.
func CheckEndpoint(endpoint string) error {
	if chromium.IsRunningName(endpoint) {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Scheme == "":
		return errors.New("not a URL")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss":
		return fmt.Errorf("unsupported scheme %q", u.Scheme)
	case u.Hostname() == "":
		return errors.New("no host")
	}
	return nil
}
