package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

func TestAcceptCertificateFlag(t *testing.T) {
	want := []string{"staging.example:443", "127.0.0.1:8443", "[::1]:8443", "box:443"}
	config := writeConfig(t, `{"accept-certificate": ["staging.example", "127.0.0.1:8443", "[::1]:8443", "box:443", "box"]}`)
	for _, c := range []struct{ args, environ []string }{
		{[]string{"--accept-certificate", "staging.example", "--accept-certificate=127.0.0.1:8443", "--accept-certificate", "[::1]:8443", "--accept-certificate=box"}, nil},
		{nil, []string{"CHROME_MCP_ACCEPT_CERTIFICATE=staging.example, 127.0.0.1:8443, [::1]:8443, box"}},
		{[]string{"--config", config}, nil},
	} {
		s, err := parse(append(c.args, "--isolated"), c.environ)
		if err != nil {
			t.Errorf("%q %q: %v", c.args, c.environ, err)
			continue
		}
		s.pool = &chromium.Pool{}
		o, err := s.chromium(nil, nil)
		if err != nil || !slices.Equal(o.AcceptCertificates, want) || o.Pool != nil {
			t.Errorf("%q %q: servers %q, pool %v, %v", c.args, c.environ, o.AcceptCertificates, o.Pool, err)
		}
	}
}

func TestBadAcceptCertificate(t *testing.T) {
	for value, want := range map[string]string{
		"*":                      "is a pattern",
		"*.example.com":          "is a pattern",
		"10.0.0.*":               "is a pattern",
		"10.0.0.0/8":             "is a range of addresses",
		"10.0.0.1-10.0.0.9":      "is a range of addresses",
		"https://example.com":    "is a URL; write HOST or HOST:PORT",
		"":                       "the host is missing",
		":443":                   "the host is missing",
		"Example.com":            "the host has upper-case letters",
		"example.com.":           "the host ends in a dot",
		"bücher.example":         "non-ASCII characters",
		"127.1":                  "not a canonical IPv4 address",
		"::1":                    "is not HOST or HOST:PORT",
		"[::1":                   "is not HOST or HOST:PORT",
		"[0:0:0:0:0:0:0:1]:8443": "not a canonical IPv6 address",
		"example.com:":           "is not HOST or HOST:PORT",
		"example.com:0":          "is not HOST or HOST:PORT",
		"example.com:65536":      "is not HOST or HOST:PORT",
		"example.com:443:443":    "is not HOST or HOST:PORT",
		"example.com?x":          "is not HOST or HOST:PORT",
		"example.com#x":          "is not HOST or HOST:PORT",
		"ada@example.com":        "is not HOST or HOST:PORT",
		"a.example,b.example":    "is not HOST or HOST:PORT",
		"a.example b.example":    "is not HOST or HOST:PORT",
	} {
		_, err := parse([]string{"--accept-certificate", value}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "--accept-certificate: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
		if _, err := sessionSettings("default", t.TempDir(), map[string][]string{"--accept-certificate": {value}}); err == nil {
			t.Errorf("%q is accepted from a client of the server", value)
		}
	}
	for _, c := range []struct {
		args, environ []string
		want          string
	}{
		{[]string{"--accept-certificate=a.example", "--cdp-endpoint=http://127.0.0.1:9222"}, nil, "--cdp-endpoint and --accept-certificate are mutually exclusive"},
		{nil, []string{"CHROME_MCP_ACCEPT_CERTIFICATE=*.example"}, "environment variable CHROME_MCP_ACCEPT_CERTIFICATE: "},
		{[]string{"--config", writeConfig(t, `{"accept-certificate": ["10.0.0.0/8"]}`)}, nil, `accept-certificate: "10.0.0.0/8" is a range`},
	} {
		if _, err := parse(c.args, c.environ); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.args, c.environ, err, c.want)
		}
	}
}

// TestReadAcceptedCertificate reads pages of servers with self-signed certificates without a browser.
func TestReadAcceptedCertificate(t *testing.T) {
	start := func() *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>Staging</title><p>One line.")
		}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // rejected handshakes are expected
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	named, other := start(), start()
	r := newReader(t, policy.Config{AllowDomains: []string{named.URL, other.URL}})
	r.certificates = []string{strings.TrimPrefix(named.URL, "https://")}
	if page, err := r.read(t.Context(), named.URL+"/"); err != nil || !strings.Contains(page.Markdown, "One line.") {
		t.Errorf("page %+v, %v", page, err)
	}
	if page, err := r.read(t.Context(), other.URL+"/"); err == nil {
		t.Errorf("page of another server: %+v", page)
	}
}
