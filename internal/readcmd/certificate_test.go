package readcmd

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/policy"
)

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
