package cli

import (
	"strings"
	"testing"
)

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
		_, err := Parse([]string{"--accept-certificate", value}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "--accept-certificate: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
		if _, err := SessionSettings("default", t.TempDir(), map[string][]string{"--accept-certificate": {value}}); err == nil {
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
		if _, err := Parse(c.args, c.environ); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.args, c.environ, err, c.want)
		}
	}
}
