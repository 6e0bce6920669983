package chromium

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/attach"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

func TestDialRealChromium(t *testing.T) {
	dir := t.TempDir()
	pid, ws := startForeign(t, dir)
	u, err := url.Parse(ws)
	if err != nil {
		t.Fatal(err)
	}
	name := "localhost:" + u.Port()
	for _, address := range []string{ws, "http://" + u.Host, "http://" + u.Host + "/", "http://" + name} {
		tr, e, err := attach.Dial(t.Context(), attach.Endpoint{URL: address})
		if err != nil {
			t.Fatalf("dial %s: %v", address, err)
		}
		if !strings.HasPrefix(e.Version.Product, "Chrome/") {
			t.Errorf("dial %s: product %q", address, e.Version.Product)
		}
		if _, err := cdpconn.GetVersion(t.Context(), tr); err != nil {
			t.Error(err)
		}
		if err := tr.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if !profiles.Uses(pid, dir) {
			t.Fatal("detaching terminated the browser")
		}
	}

	// Errors of a real Chromium.
	for address, code := range map[string]executor.Code{
		"ws://" + u.Host:                       executor.ErrLaunchFailed,
		"ws://" + u.Host + "/devtools/page/no": executor.ErrLaunchFailed,
	} {
		if _, _, err := attach.Dial(t.Context(), attach.Endpoint{URL: address}); executor.CodeOf(err) != code {
			t.Errorf("dial %s: %v, want %s", address, err, code)
		}
	}
}

func TestLocalEndpoint(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:9222": true, "http://LOCALHOST:9222": true, "ws://localhost.:9222/": true, "http://127.0.0.2:1": true,
		"http://[::1]:9222": true, "http://[0:0:0:0:0:0:0:1]:9222": true, "http://[::ffff:127.0.0.1]:1": true, "auto": true,
		"http://10.0.0.1:9222": false, "http://localhost.example:9222": false, "http://[::]:1": false, "%": false,
	} {
		o := Options{CDPEndpoint: endpoint}
		if got := o.local(); got != want {
			t.Errorf("%s: %v, want %v", endpoint, got, want)
		}
	}
}

func TestIsEncrypted(t *testing.T) {
	for address, want := range map[string]bool{
		"ws://127.0.0.1:9222/devtools/browser/x": true, "http://localhost:1": true, "ws://[::1]:9222/": true,
		"wss://10.0.0.1/": true, "https://browsers.example": true,
		"ws://10.0.0.1:9222/": false, "http://10.0.0.1:9222": false, "ws://browsers:3000": false, "ws://localhost.example/": false, "%": false,
	} {
		if got := isEncrypted(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// A loginSecret is the secret shop.password of a site.
type loginSecret string

func (s loginSecret) List(context.Context) ([]executor.SecretInfo, error) { return nil, nil }

func (s loginSecret) Find(_ context.Context, name, field string) (*executor.SecretField, bool, error) {
	return &executor.SecretField{Name: name, Field: field, Origins: []string{string(s)}, Value: func(context.Context) (string, error) { return "Kw7#qLz9&vX", nil }}, true, nil
}

// TestSecretOverNetwork checks that no secret is typed in a browser whose connection others on the
// network can read.
func TestSecretOverNetwork(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>login</title><link rel=icon href=data:,><input id=password type=password>`)
	}))
	t.Cleanup(site.Close)
	_, ws := startForeignShell(t, t.TempDir())
	u, err := url.Parse(ws)
	if err != nil {
		t.Fatal(err)
	}
	remote := *u
	remote.Host = forward(t, u.Host)
	for address, want := range map[string]executor.Code{u.String(): "", remote.String(): executor.ErrPolicyDenied} {
		o := testOptions(t)
		o.CDPEndpoint = address
		s, err := newBrowser(t, o).NewSession(&executor.SessionOptions{Gate: executor.AllowAll, Secrets: loginSecret(site.URL)})
		if err != nil {
			t.Fatal(err)
		}
		page, _, err := s.NewPage(t.Context(), &executor.NewPageOptions{URL: site.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = page.Type(t.Context(), executor.Target{Selector: "#password"}, "{{shop.password}}", nil)
		if got := executor.CodeOf(err); got != want || want != "" && !strings.Contains(err.Error(), "not encrypted") {
			t.Errorf("typing a secret at %s: %v", address, err)
		}
		s.Close()
	}
}

// forward forwards connections from an address of this machine other than loopback, which it returns,
// to another one.
func forward(t *testing.T, to string) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort(n.IP.String(), "0"))
		if err != nil {
			continue
		}
		t.Cleanup(func() { l.Close() })
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", to, to }}
		server := &http.Server{Handler: proxy}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		return l.Addr().String()
	}
	t.Skip("this machine has only loopback addresses")
	return ""
}
