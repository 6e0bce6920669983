package egress

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAcceptCertificates checks that clients of a proxy accept the certificates of exactly the
// servers that its options name.
func TestAcceptCertificates(t *testing.T) {
	origin := func() (port string) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
		s.EnableHTTP2 = true
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // rejected handshakes are expected
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL[strings.LastIndexByte(s.URL, ':'):]
	}
	named, other := origin(), origin()
	start := func(servers ...string) *Proxy {
		p, err := NewPrivate(nil, Options{Policy: &rules{}, AcceptCertificates: servers}, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	get := func(p *Proxy, config *tls.Config, host string) (string, error) {
		transport := &http.Transport{Proxy: http.ProxyURL(p.Client()), TLSClientConfig: config, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Get("https://" + host + "/")
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	}

	p := start("127.0.0.1"+named, "localhost"+other)
	for _, host := range []string{"127.0.0.1" + named, "localhost" + other} {
		if got, err := get(p, p.ClientTLS(), host); err != nil || got != "HTTP/2.0" {
			t.Errorf("%s: %q, %v", host, got, err)
		}
		if _, err := get(p, nil, host); err == nil {
			t.Errorf("%s: a client without the configuration accepts the certificate", host)
		}
	}
	for _, host := range []string{"127.0.0.1" + other, "localhost" + named} {
		if _, err := get(p, p.ClientTLS(), host); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if second := start("127.0.0.1" + named); second.CertificateKey() == p.CertificateKey() {
		t.Error("two proxies have the same key")
	} else if _, err := get(p, second.ClientTLS(), "127.0.0.1"+named); err == nil {
		t.Error("a client of another proxy accepts the certificate")
	}
	none := start()
	if none.CertificateKey() != "" || none.ClientTLS() != nil {
		t.Error("a proxy that accepts no certificate has a key")
	}
	for _, bad := range []string{"*.example:443", "10.0.0.0/8", "Shop.example", "", "shop.example:0"} {
		if p, err := New(Options{AcceptCertificates: []string{bad}}); err == nil {
			p.Close()
			t.Errorf("%q is accepted", bad)
		}
	}
}
