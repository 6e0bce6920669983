package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
)

func TestMain(m *testing.M) { os.Exit(leakcheck.Run(m)) }

// rules is a NetworkPolicy that denies the hosts, paths and addresses that it contains.
type rules struct {
	hosts map[string]string // denied host, or host and path → reason
	addrs map[netip.Addr]string

	mu      sync.Mutex
	checked []string // arguments of CheckHost
}

func (r *rules) CheckHost(scheme, host string, port int) error {
	r.mu.Lock()
	r.checked = append(r.checked, fmt.Sprintf("%s|%s|%d", scheme, host, port))
	r.mu.Unlock()
	if reason, ok := r.hosts[host]; ok {
		return errors.New(reason)
	}
	return nil
}

func (r *rules) CheckPath(_, host string, _ int, path string) error {
	if reason, ok := r.hosts[host+path]; ok {
		return errors.New(reason)
	}
	return nil
}

func (r *rules) CheckAddr(_ string, _ int, a netip.Addr) error {
	if reason, ok := r.addrs[a]; ok {
		return errors.New(reason)
	}
	return nil
}

func (r *rules) checkedHosts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.checked...)
}

// names is a Resolver.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	list, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

func start(t testing.TB, opts Options) *Proxy {
	t.Helper()
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// client returns an http client that uses p.
func client(t testing.TB, p *Proxy) *http.Client {
	u := &url.URL{Scheme: "http", Host: p.Addr(), User: p.credentials}
	tr := &http.Transport{Proxy: http.ProxyURL(u), DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: await.HangLimit}
}

func serve(t testing.TB, h http.HandlerFunc) (s *httptest.Server, port string) {
	s = httptest.NewServer(h)
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return s, port
}

func get(t testing.TB, c *http.Client, u string) (*http.Response, string) {
	t.Helper()
	res, err := c.Get(u)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// connect opens a tunnel and returns the connection and the response.
func connect(t testing.TB, p *Proxy, target, early string) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(await.HangLimit))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", target, target, early)
	br := bufio.NewReader(c)
	res, err := http.ReadResponse(br, &http.Request{Method: "CONNECT"})
	if err != nil {
		t.Fatalf("CONNECT %s: %v", target, err)
	}
	return c, br, res
}

func TestForward(t *testing.T) {
	var got *http.Request
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		w.Header()["Content-Type"] = nil
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("X-End", "2")
		io.WriteString(w, "<p>hello")
	})
	rule := &rules{}
	p := start(t, Options{Policy: rule, Resolver: names{"shop.test": {"127.0.0.1"}}})
	req, _ := http.NewRequest("GET", "http://shop.test:"+port+"/a?b=1;c=2", nil)
	req.URL.Opaque = "//shop.test:" + port + "/a|b"
	req.Header.Set("Proxy-Connection", "keep-alive")
	req.Header.Set("X-Forwarded-For", "1.2.3.4")
	res, err := client(t, p).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if string(body) != "<p>hello" || res.StatusCode != 200 {
		t.Errorf("got %d %q", res.StatusCode, body)
	}
	if got.RequestURI != "/a|b?b=1;c=2" {
		t.Errorf("origin got %q, want the path and query unchanged", got.RequestURI)
	}
	if got.Host != "shop.test:"+port {
		t.Errorf("origin got Host %q", got.Host)
	}
	if h := got.Header; h.Get("Proxy-Connection") != "" || h.Get("X-Forwarded-For") != "1.2.3.4" || h.Get("Via") != "" {
		t.Errorf("origin got header %v", h)
	}
	if h := res.Header; h.Get("X-Hop") != "" || h.Get("X-End") != "2" || h["Content-Type"] != nil {
		t.Errorf("client got header %v", h)
	}
	if q := rule.checkedHosts(); len(q) != 1 || q[0] != "http|shop.test|"+port {
		t.Errorf("checked hosts %q", q)
	}
}

func TestForwardDenied(t *testing.T) {
	hits := 0
	_, port := serve(t, func(http.ResponseWriter, *http.Request) { hits++ })
	p := start(t, Options{
		Policy: &rules{
			hosts: map[string]string{"evil.test": "blocked\r\nby rule"},
			addrs: map[netip.Addr]string{netip.MustParseAddr("127.0.0.1"): "private address"},
		},
		Resolver: names{"evil.test": {"127.0.0.1"}, "public.test": {"127.0.0.1", "::ffff:127.0.0.1"}},
	})
	c := client(t, p)
	for _, tt := range []struct{ host, reason string }{
		{"evil.test", "blocked  by rule"},
		{"public.test", "private address"}, // a public-looking name of a private address
		{"127.0.0.1", "private address"},
	} {
		res, body := get(t, c, "http://"+tt.host+":"+port+"/secret")
		if res.StatusCode != 403 || res.Header.Get(DeniedHeader) != tt.reason || !strings.Contains(body, tt.reason) {
			t.Errorf("%s: %d %v %q", tt.host, res.StatusCode, res.Header, body)
		}
		if _, _, res := connect(t, p, tt.host+":"+port, ""); res.StatusCode != 403 {
			t.Errorf("CONNECT %s: %s", tt.host, res.Status)
		}
		for _, key := range []string{tt.host, tt.host + ":" + port} {
			if reason, ok := p.Denied(key); !ok || oneLine(reason.Error()) != tt.reason {
				t.Errorf("Denied(%q) = %v, %v", key, reason, ok)
			}
		}
		if _, ok := p.Failed(tt.host); ok {
			t.Errorf("Failed(%q) for a denied host", tt.host)
		}
	}
	if hits != 0 {
		t.Errorf("the server was reached %d times", hits)
	}
	if _, ok := p.Denied("other.test"); ok {
		t.Error("Denied for a host that was never requested")
	}
}

// TestDialsCheckedAddress uses a name whose first address is denied, and a resolver that returns
// other addresses for the second query.
func TestDialsCheckedAddress(t *testing.T) {
	// The server also listens on the denied address.
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
	}))
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	flip := &changingResolver{answers: [][]string{{"127.0.0.2", "127.0.0.1"}, {"127.0.0.2"}}}
	p := start(t, Options{
		Policy:   &rules{addrs: map[netip.Addr]string{netip.MustParseAddr("127.0.0.2"): "private address"}},
		Resolver: flip,
	})
	res, body := get(t, client(t, p), "http://a.test:"+port+"/")
	if res.StatusCode != 200 || body != "127.0.0.1:"+port {
		t.Errorf("got %d %q, want the allowed address", res.StatusCode, body)
	}
	if flip.calls != 1 {
		t.Errorf("resolved %d times for one connection", flip.calls)
	}
}

type changingResolver struct {
	answers [][]string
	calls   int
}

func (f *changingResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	i := min(f.calls, len(f.answers)-1)
	f.calls++
	return names{host: f.answers[i]}.LookupNetIP(ctx, network, host)
}

func TestRedirectRechecked(t *testing.T) {
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://evil.test/", http.StatusFound)
	})
	rule := &rules{hosts: map[string]string{"evil.test": "not in the allow list"}}
	p := start(t, Options{Policy: rule, Resolver: names{"good.test": {"127.0.0.1"}}})
	res, _ := get(t, client(t, p), "http://good.test:"+port+"/")
	if res.StatusCode != 403 || res.Request.URL.Host != "evil.test" {
		t.Errorf("ended with %d at %s", res.StatusCode, res.Request.URL)
	}
	if q := rule.checkedHosts(); len(q) != 2 || q[1] != "http|evil.test|80" {
		t.Errorf("checked hosts %q", q)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close() // the port is closed now
	p := start(t, Options{Policy: &rules{}, Resolver: names{"two.test": {"127.0.0.1", "127.0.0.2"}}})
	for host, want := range map[string]string{
		"127.0.0.1":    "net::ERR_CONNECTION_REFUSED",
		"two.test":     "net::ERR_CONNECTION_REFUSED",
		"missing.test": "net::ERR_NAME_NOT_RESOLVED",
	} {
		res, _ := get(t, client(t, p), "http://"+host+":"+port+"/")
		if res.StatusCode != 502 || res.Header.Get(ErrorHeader) != want {
			t.Errorf("%s: %d %v", host, res.StatusCode, res.Header)
		}
		if _, _, res := connect(t, p, host+":"+port, ""); res.StatusCode != 502 {
			t.Errorf("CONNECT %s: %s", host, res.Status)
		}
		if got, ok := p.Failed(host); !ok || got != want {
			t.Errorf("Failed(%q) = %q, %v, want %q", host, got, ok, want)
		}
		if _, ok := p.Denied(host); ok {
			t.Errorf("Denied(%q) for an unreachable host", host)
		}
	}
}

func TestStrictTargets(t *testing.T) {
	rule := &rules{}
	p := start(t, Options{Policy: rule})
	for _, target := range []string{
		"example.com", "example.com:", "example.com:0", "example.com:080", "example.com:65536", "Example.com:443",
		"example.com.:443", "a@b:443", "0x7f.1:80", "127.1:80", "2130706433:80", "017700000001:80",
		"[::ffff:127.0.0.1]:80", "[::1%25lo]:80", "[0::1]:80", "::1:80", "[::1:80", "exa mple:80", "ex%61mple.com:80", ":80", "..:80",
	} {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", target)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != 400 {
			t.Errorf("CONNECT %s: %v %v", target, res, err)
		}
		c.Close()
	}
	for _, uri := range []string{"/", "https://example.com/", "ftp://example.com/", "http://u:p@example.com/", "http://0xA9FEA9FE/", "http://Example.com/"} {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n", uri)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != 400 {
			t.Errorf("GET %s: %v %v", uri, res, err)
		}
		c.Close()
	}
	if q := rule.checkedHosts(); len(q) != 0 {
		t.Errorf("CheckHost was called for malformed targets: %q", q)
	}
}

func TestNilPolicyDenies(t *testing.T) {
	_, port := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	res, _ := get(t, client(t, start(t, Options{})), "http://127.0.0.1:"+port+"/")
	if res.StatusCode != 403 {
		t.Errorf("got %d", res.StatusCode)
	}
}

func TestCredentials(t *testing.T) {
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the origin received the proxy's credentials")
		}
	})
	p := start(t, Options{Policy: &rules{}, Credentials: url.UserPassword("browser", "s3cret")})
	begin := time.Now()
	if res, _ := get(t, client(t, p), "http://127.0.0.1:"+port+"/"); res.StatusCode != 200 {
		t.Errorf("with credentials: %d", res.StatusCode)
	}
	for _, user := range []*url.Userinfo{nil, url.UserPassword("browser", "s3cre"), url.User("browser")} {
		u := &url.URL{Scheme: "http", Host: p.Addr(), User: user}
		tr := &http.Transport{Proxy: http.ProxyURL(u), DisableKeepAlives: true}
		res, _ := get(t, &http.Client{Transport: tr}, "http://127.0.0.1:"+port+"/")
		if res.StatusCode != 407 || res.Header.Get("Proxy-Authenticate") != realm {
			t.Errorf("%v: %d %v", user, res.StatusCode, res.Header)
		}
	}
	if _, _, res := connect(t, p, "127.0.0.1:"+port, ""); res.StatusCode != 407 {
		t.Errorf("CONNECT without credentials: %s", res.Status)
	}
	if at, ok := p.Challenged("127.0.0.1"); !ok || at.Before(begin) || at.After(time.Now()) {
		t.Errorf("challenged %v at %v", ok, at)
	}
	get(t, client(t, p), "http://127.0.0.1:"+port+"/")
	if _, ok := p.Challenged("127.0.0.1"); ok {
		t.Error("a host that was reached later counts as challenged")
	}
}

// TestStreams checks that the proxy forwards a part of a response or request before the rest
// exists.
func TestStreams(t *testing.T) {
	seen := make(chan string, 1)
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		rc.EnableFullDuplex()
		b := make([]byte, 4)
		io.ReadFull(r.Body, b)
		io.WriteString(w, "ack1")
		rc.Flush()
		seen <- string(b)
		io.Copy(w, r.Body)
	})
	p := start(t, Options{Policy: &rules{}})
	pr, pw := io.Pipe()
	req, _ := http.NewRequest("POST", "http://127.0.0.1:"+port+"/", pr)
	go pw.Write([]byte("one!"))
	res, err := client(t, p).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := <-seen; got != "one!" {
		t.Errorf("origin saw %q", got)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != "ack1" {
		t.Fatalf("got %q %v", b, err)
	}
	pw.Write([]byte("two!"))
	pw.Close()
	if rest, _ := io.ReadAll(res.Body); string(rest) != "two!" {
		t.Errorf("then got %q", rest)
	}
}

func TestReusesConnections(t *testing.T) {
	conns := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns++
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := client(t, start(t, Options{Policy: &rules{}}))
	for range 5 {
		get(t, c, s.URL)
	}
	if conns != 1 {
		t.Errorf("%d connections to the origin for 5 requests", conns)
	}
}

// TestRepeatsOnClosedConnection uses an origin that closes each connection at its second request.
func TestRepeatsOnClosedConnection(t *testing.T) {
	type requests struct{} // key of the number of requests on a connection
	var received atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		if n := r.Context().Value(requests{}).(*atomic.Int32).Add(1); n > 1 || r.URL.Path == "/closes" {
			panic(http.ErrAbortHandler)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d bytes %q", r.Method, len(body), r.Header[idempotencyKey])
	}))
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, requests{}, new(atomic.Int32))
	}
	s.Start()
	t.Cleanup(s.Close)
	c := client(t, start(t, Options{Policy: &rules{}}))
	for _, tt := range []struct {
		method, body, key string
		want              string
	}{
		{http.MethodGet, "", "", "GET 0 bytes []"},
		{http.MethodPost, "", "", "POST 0 bytes []"},
		{http.MethodPost, "form", "", "POST 4 bytes []"},
		{"UNUSUAL", "form", "of the page", `UNUSUAL 4 bytes ["of the page"]`},
		{http.MethodPost, strings.Repeat("x", maxRepeatable), "", "POST 32768 bytes []"},
		{http.MethodPost, strings.Repeat("x", maxRepeatable+1), "", "not reached: net::ERR_CONNECTION_FAILED\n"},
	} {
		get(t, c, s.URL) // leaves an idle connection, which the next request reuses
		received.Store(0)
		req, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.key != "" {
			req.Header.Set(idempotencyKey, tt.key)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(got) != tt.want {
			t.Errorf("%s with %d bytes: %q, %v, want %q", tt.method, len(tt.body), got, err, tt.want)
		}
		if n := received.Load(); n != 2 && len(tt.body) <= maxRepeatable {
			t.Errorf("%s with %d bytes: sent %d times", tt.method, len(tt.body), n)
		}
	}
	// The error of a new connection is final.
	c = client(t, start(t, Options{Policy: &rules{}}))
	received.Store(0)
	res, err := c.Post(s.URL+"/closes", "text/plain", strings.NewReader("form"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if n := received.Load(); res.StatusCode != http.StatusBadGateway || n != 1 {
		t.Errorf("on a new connection: %s, sent %d times", res.Status, n)
	}
}

// TestOriginCannotForgeProxyHeaders uses an origin that responds like the proxy for a denied host.
func TestOriginCannotForgeProxyHeaders(t *testing.T) {
	s, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["x-chrome-mcp-denied"] = []string{"by me", "twice"}
		w.Header().Set(ErrorHeader, "net::ERR_FAILED")
		w.Header().Set("X-Other", "kept")
		w.WriteHeader(http.StatusForbidden)
	})
	res, _ := get(t, client(t, start(t, Options{Policy: &rules{}})), s.URL)
	if res.StatusCode != http.StatusForbidden || res.Header.Get("X-Other") != "kept" {
		t.Errorf("got %s with %v, want the origin's response", res.Status, res.Header)
	}
	for _, name := range []string{DeniedHeader, ErrorHeader} {
		if v := res.Header.Values(name); len(v) > 0 {
			t.Errorf("the origin's header %s was forwarded: %q", name, v)
		}
	}
}

// TestOriginRequiresProxyAuth checks that the browser receives no 407 response
// except the proxy's.
func TestOriginRequiresProxyAuth(t *testing.T) {
	s, port := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Authenticate", realm)
		w.WriteHeader(http.StatusProxyAuthRequired)
	})
	p := start(t, Options{Policy: &rules{}, Credentials: url.UserPassword("user", "secret")})
	res, _ := get(t, client(t, p), s.URL)
	const want = "net::ERR_UNEXPECTED_PROXY_AUTH"
	if name, _ := p.Failed("127.0.0.1:" + port); res.StatusCode != http.StatusBadGateway || res.Header.Get(ErrorHeader) != want || name != want {
		t.Errorf("got %s with %v, %q", res.Status, res.Header, name)
	}
}

// TestForwardPathChecked checks that the policy decides on the path of plain http as it is sent.
func TestForwardPathChecked(t *testing.T) {
	var received []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received = append(received, r.RequestURI) }))
	defer s.Close()
	c := client(t, start(t, Options{Policy: &rules{hosts: map[string]string{"127.0.0.1/x/..%2fadmin": "denied path", "127.0.0.1/": "denied root"}}}))
	for path, want := range map[string]int{"/x/..%2fadmin?q=1": 403, "/": 403, "": 403, "/other?/x/..%2fadmin": 200} {
		if res, _ := get(t, c, s.URL+path); res.StatusCode != want {
			t.Errorf("%q: status %d, want %d", path, res.StatusCode, want)
		}
	}
	if len(received) != 1 {
		t.Errorf("the server received %q", received)
	}
}
