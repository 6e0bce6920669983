package chromium

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/browserless"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

// outsideAddress returns an address of this machine that is not loopback, with port 0. Without one, a
// connection from another machine cannot be tested.
func outsideAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return net.JoinHostPort(n.IP.String(), "0")
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("this machine has no IPv4 address except loopback")
	}
	t.Skip("this machine has no IPv4 address except loopback")
	return ""
}

// TestRemoteEgress uses two browsers of browserless with one egress address. Pages reach denied
// hosts on no route, WebSockets included, which CDP does not report. Other programs reach nothing
// through the address without the credentials of a browser.
func TestRemoteEgress(t *testing.T) {
	replica := browserless.Start(t, browserless.Options{Browser: findBrowser(t), Token: browserlessToken, Concurrent: 2})
	ctx, cancel := context.WithTimeout(t.Context(), 2*await.HangLimit)
	t.Cleanup(cancel)
	var denied, loaded atomic.Int32
	deniedSite := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { denied.Add(1) }))
	t.Cleanup(deniedSite.Close)
	deniedHost := strings.Replace(deniedSite.Listener.Addr().String(), "127.0.0.1", "localhost", 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		loaded.Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<link rel=icon href=data:,><body><script>
			const ended = [];
			const end = name => { ended.push(name); if (ended.length == 3) document.body.textContent = "all ended"; };
			for (const host of ["%[1]s", "[::ffff:127.0.0.1]:%[2]s"]) { const s = new WebSocket("ws://" + host); s.onclose = () => end("socket"); }
			fetch("http://%[1]s/", {mode: "no-cors"}).finally(() => end("fetch")); // the response may be that of the proxy
		</script>`, deniedHost, deniedHost[strings.LastIndex(deniedHost, ":")+1:])
	}))
	t.Cleanup(site.Close)

	remote, err := NewRemoteEgress(outsideAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	open := func() *Backend {
		t.Helper()
		o := browserlessOptions(t, replica.URL)
		o.Network, o.RemoteEgress = hosts{"127.0.0.1"}, remote
		b := newBrowser(t, o)
		s := newSession(t, b)
		_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: site.URL})
		if err != nil {
			t.Fatalf("%v\n%s", err, replica.Log())
		}
		if res, err := pagetest.Of(s, tab.ID).WaitFor(ctx, &executor.WaitCondition{Text: "all ended", Timeout: await.HangLimit}); err != nil || !res.Matched {
			t.Errorf("requests of the page do not end: %+v, %v", res, err)
		}
		if detail := b.Status(ctx).Detail; strings.Contains(detail, "polic") {
			t.Errorf("status %q names a limit of the policy", detail)
		}
		return b
	}
	first, second := open(), open()
	if n := denied.Load(); n != 0 {
		t.Errorf("the denied host received %d requests", n)
	}

	proxy, other := first.instance.proxy, second.instance.proxy
	if proxy.Addr() != other.Addr() {
		t.Errorf("two addresses: %s, %s", proxy.Addr(), other.Addr())
	}
	needsCredentials(t, proxy, site, &loaded)

	credentials := proxy.Credentials()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if got := proxyStatus(t, other.Addr(), "GET "+site.URL+"/ HTTP/1.1", credentials); got != 407 {
		t.Errorf("credentials of a browser that ended: HTTP %d", got)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	refusesConnections(t, other.Addr())
}

// TestRemoteEgressCredentials opens the egress address for two browsers without launching them, and
// closes it.
func TestRemoteEgressCredentials(t *testing.T) {
	var loaded atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { loaded.Add(1) }))
	t.Cleanup(site.Close)
	remote, err := NewRemoteEgress(outsideAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Network: hosts{"127.0.0.1"}, RemoteEgress: remote}
	open := func() *instance {
		t.Helper()
		in := &instance{}
		if _, err := in.openRemoteEgress(opts); err != nil {
			t.Fatal(err)
		}
		return in
	}
	first, second := open(), open()
	address := first.proxy.Addr()
	needsCredentials(t, first.proxy, site, &loaded)
	needsCredentials(t, second.proxy, site, &loaded)
	if err := first.closeProxy(); err != nil {
		t.Error(err)
	}
	before := loaded.Load()
	for in, want := range map[*instance]int{first: 407, second: 200} {
		if got := proxyStatus(t, address, "GET "+site.URL+"/ HTTP/1.1", in.proxy.Credentials()); got != want {
			t.Errorf("after the end of the first browser: HTTP %d, want %d", got, want)
		}
	}
	if n := loaded.Load() - before; n != 1 {
		t.Errorf("the site received %d requests, want 1", n)
	}
	if err := second.closeProxy(); err != nil {
		t.Error(err)
	}
	refusesConnections(t, address)
}

// needsCredentials checks that a proxy gives 407 to requests from outside without its credentials,
// and connects to nothing for them. loaded counts the requests to the site.
func needsCredentials(t *testing.T, proxy *egress.Proxy, site *httptest.Server, loaded *atomic.Int32) {
	t.Helper()
	before := loaded.Load()
	wrong := url.UserPassword("chrome-mcp", "wrong")
	for name, tt := range map[string]struct {
		user *url.Userinfo
		want int
	}{"no credentials": {nil, 407}, "wrong credentials": {wrong, 407}, "of the browser": {proxy.Credentials(), 200}} {
		for _, request := range []string{"GET " + site.URL + "/ HTTP/1.1", "CONNECT " + site.Listener.Addr().String() + " HTTP/1.1"} {
			if got := proxyStatus(t, proxy.Addr(), request, tt.user); got != tt.want {
				t.Errorf("%s: %s: HTTP %d, want %d", name, request, got, tt.want)
			}
		}
	}
	if n := loaded.Load() - before; n != 1 {
		t.Errorf("the site received %d requests, want 1", n)
	}
}

// refusesConnections checks that nothing listens on the egress address.
func refusesConnections(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("address after the end of its browsers: %v, want connection refused", err)
	}
}

// proxyStatus returns the HTTP status with which a proxy answers a request from outside.
func proxyStatus(t *testing.T, address, request string, user *url.Userinfo) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	header := "Host: x\r\n"
	if user != nil {
		password, _ := user.Password()
		header += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	fmt.Fprintf(conn, "%s\r\n%s\r\n", request, header)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

func TestRemoteEgressAddress(t *testing.T) {
	for _, address := range []string{"", "10.0.0.5", ":3129", "0.0.0.0:3129", "[::]:3129", "[::ffff:0.0.0.0]:3129", "10.0.0.5:", "10.0.0.5:70000", "http://10.0.0.5:3129"} {
		if _, err := NewRemoteEgress(address); executor.CodeOf(err) != executor.ErrBadArgs {
			t.Errorf("%q: %v, want BAD_ARGS", address, err)
		}
	}
	// An address of another machine (RFC 5737).
	remote, err := NewRemoteEgress("192.0.2.1:3129")
	if err != nil {
		t.Fatal(err)
	}
	o := browserlessOptions(t, "ws://127.0.0.1:1")
	o.Network, o.RemoteEgress = hosts{}, remote
	b := mustNew(t, o)
	defer b.Close()
	if _, err := (sessionProvider{b}).Acquire(t.Context()); executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), "egress address 192.0.2.1:3129") {
		t.Errorf("address of another machine: %v", err)
	}
	// After a launch that failed, nothing listens.
	if remote, err = NewRemoteEgress("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	o.RemoteEgress = remote
	failed := mustNew(t, o)
	defer failed.Close()
	if _, err := (sessionProvider{failed}).Acquire(t.Context()); executor.CodeOf(err) != executor.ErrNoBackend {
		t.Errorf("no replica: %v", err)
	}
	if remote.port != nil || remote.proxies != 0 {
		t.Errorf("%d proxies are left", remote.proxies)
	}
}
