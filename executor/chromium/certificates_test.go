package chromium

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// selfSigned returns a self-signed certificate for localhost and 127.0.0.1 that is valid until end.
func selfSigned(t *testing.T, end time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: end.AddDate(0, 0, -2), NotAfter: end,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// httpsSite serves a page, an image, a service worker and a WebSocket with a certificate. It also
// accepts http2.
func httpsSite(t *testing.T, certificate tls.Certificate) (port string) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		switch r.URL.Path {
		case "/image.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`)
		case "/worker.js":
			w.Header().Set("Content-Type", "text/javascript")
		case "/socket":
			if c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
				c.Close(websocket.StatusNormalClosure, "")
			}
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s for %s</title><link rel=icon href=data:,>", r.Proto, r.Host)
		}
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // rejected handshakes are expected
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL[strings.LastIndexByte(s.URL, ':'):]
}

// TestAcceptCertificates checks that a launched browser accepts the certificates of exactly the
// servers that its options name.
func TestAcceptCertificates(t *testing.T) {
	shared := selfSigned(t, time.Now().AddDate(0, 0, 1))
	named, other := httpsSite(t, shared), httpsSite(t, shared)
	expired := httpsSite(t, selfSigned(t, time.Now().AddDate(0, 0, -1)))
	accepted := []string{"127.0.0.1" + named, "wrong.example" + other, "localhost" + expired}
	rejected := map[string]string{
		"localhost" + named:         "net::ERR_CERT_AUTHORITY_INVALID", // another host with the same certificate
		"127.0.0.1" + other:         "net::ERR_CERT_AUTHORITY_INVALID", // another port with the same certificate
		"sub.wrong.example" + other: "net::ERR_CERT_AUTHORITY_INVALID",
		"127.0.0.1" + expired:       "net::ERR_CERT_",
	}
	start := func(servers []string) executor.Executor {
		o := testOptions(t)
		o.Isolated, o.Network, o.resolver, o.AcceptCertificates = true, anyHost{}, loopback{}, servers
		session, err := newBrowser(t, o).NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		if _, _, err := session.NewPage(await.Context(t), nil); err != nil {
			t.Fatal(err)
		}
		return session
	}
	wantRejected := func(session executor.Executor, server, want string) {
		t.Helper()
		if _, err := session.Navigate(await.Context(t), "https://"+server+"/", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", server, err, want)
		}
	}

	session := start(accepted)
	for _, server := range accepted {
		page := mustNavigate(t, session, "https://"+server+"/")
		if want := "HTTP/2.0 for " + server; page.Title != want || page.HTTPStatus != http.StatusOK {
			t.Errorf("title %q, status %d; want %q", page.Title, page.HTTPStatus, want)
		}
	}
	for server, want := range rejected {
		wantRejected(session, server, want)
	}
	mustNavigate(t, session, "https://"+accepted[0]+"/")
	loads := map[string]string{
		"fetch":  "fetch('https://%s/').then(() => true, () => false)",
		"image":  "new Promise((done) => { const i = new Image(); i.onload = () => done(true); i.onerror = () => done(false); i.src = 'https://%s/image.svg'; })",
		"socket": "new Promise((done) => { const s = new WebSocket('wss://%s/socket'); s.onopen = () => done(true); s.onerror = () => done(false); })",
		"worker": "new Promise((done) => { new Worker(URL.createObjectURL(new Blob([`fetch('https://%s/').then(() => postMessage(true), () => postMessage(false))`]))).onmessage = (e) => done(e.data); })",
	}
	for name, load := range loads {
		for _, server := range accepted {
			if got := eval(t, session, strings.ReplaceAll(load, "%s", server)); got != "true" {
				t.Errorf("%s of %s: %s", name, server, got)
			}
		}
		for server := range rejected {
			if got := eval(t, session, strings.ReplaceAll(load, "%s", server)); got != "false" {
				t.Errorf("%s of %s: %s", name, server, got)
			}
		}
	}
	if got := eval(t, session, "navigator.serviceWorker.register('/worker.js').then(() => isSecureContext, String)"); got != "true" {
		t.Errorf("service worker: %s", got)
	}

	for _, server := range accepted {
		file, err := pagetest.Of(session, "").Download(await.Context(t), &executor.DownloadOptions{URL: "https://" + server + "/"})
		if err != nil {
			t.Errorf("download from %s: %v", server, err)
		} else if text, err := os.ReadFile(file.Path); err != nil || !strings.Contains(string(text), "for "+server) {
			t.Errorf("downloaded %s, %v", text, err)
		}
	}
	for server := range rejected {
		_, err := pagetest.Of(session, "").Download(await.Context(t), &executor.DownloadOptions{URL: "https://" + server + "/"})
		if wantCode(t, err, executor.ErrDownloadFailed); err != nil && !strings.Contains(err.Error(), "certificate is not trusted") {
			t.Errorf("download from %s: %v", server, err)
		}
	}

	wantRejected(start(nil), accepted[0], "net::ERR_CERT_AUTHORITY_INVALID")
}

func TestAcceptCertificatesOptions(t *testing.T) {
	valid := Options{Isolated: true, Network: anyHost{}, DataDir: t.TempDir(), AcceptCertificates: []string{"shop.example:443"}}
	if _, err := New(&valid); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"no network policy": func(o *Options) { o.Network = nil },
		"invalid server":    func(o *Options) { o.AcceptCertificates = []string{"shop.example:x"} },
		"pool":              func(o *Options) { o.Pool = &Pool{} },
		"endpoint":          func(o *Options) { o.CDPEndpoint = "http://127.0.0.1:9222" },
		"browserless":       func(o *Options) { o.Browserless = &Browserless{URLs: []string{"ws://127.0.0.1:3000"}} },
	} {
		o := valid
		change(&o)
		if _, err := New(&o); !errors.Is(err, executor.ErrBadArgs) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
