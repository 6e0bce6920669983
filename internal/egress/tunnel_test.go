package egress

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// echo starts a server that sends back everything it reads, and then "bye" when the client closes
// its direction.
func echo(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
				io.WriteString(c, "bye")
			}()
		}
	}()
	return l.Addr().String()
}

func TestTunnelHalfClose(t *testing.T) {
	p := start(t, Options{Policy: &rules{}})
	c, br, res := connect(t, p, echo(t), "\x16early ") // sent before the response arrives
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	io.WriteString(c, "late ")
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(br)
	if err != nil || string(b) != "\x16early late bye" {
		t.Errorf("got %q %v", b, err)
	}
}

func TestCloseEndsTunnels(t *testing.T) {
	p := start(t, Options{Policy: &rules{}})
	_, br, _ := connect(t, p, echo(t), "")
	idle, err := net.Dial("tcp", p.Addr()) // has sent nothing
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	p.Close()
	if b, err := io.ReadAll(br); len(b) != 0 {
		t.Errorf("got %q %v", b, err)
	}
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("the proxy listens after Close")
	}
	p.Close() // again
}

func TestTLSThroughTunnel(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))
	t.Cleanup(s.Close)
	rule := &rules{}
	p := start(t, Options{Policy: rule, Resolver: names{"example.com": {"127.0.0.1"}}})
	c := client(t, p)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	if _, body := get(t, c, "https://example.com:"+port+"/"); body != "example.com:"+port {
		t.Errorf("got %q", body)
	}
	if q := rule.checkedHosts(); len(q) != 1 || q[0] != "|example.com|"+port {
		t.Errorf("checked hosts %q", q)
	}
}

// upgradingServer starts a server that accepts an upgrade to WebSocket and then sends back what it
// reads. For a proxy, WebSocket frames are ordinary bytes.
func upgradingServer(t *testing.T) string {
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" {
			t.Errorf("origin got %v", r.Header)
			return
		}
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		io.Copy(c, buf)
	})
	return "127.0.0.1:" + port
}

// chat upgrades c, exchanges messages, and then closes the proxy.
func chat(t *testing.T, p *Proxy, c net.Conn, br *bufio.Reader, requestURI, host string) {
	t.Helper()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", requestURI, host)
	res, err := http.ReadResponse(br, nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("upgrade: %v %v", res, err)
	}
	for i := range 3 {
		want := fmt.Sprint("message ", i)
		io.WriteString(c, want)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(br, got); err != nil || string(got) != want {
			t.Fatalf("got %q %v", got, err)
		}
	}
	p.Close()
	if b, _ := io.ReadAll(br); len(b) != 0 {
		t.Errorf("received %q after Close", b)
	}
}

// TestWebSocketByConnect opens a tunnel for ws, as Chromium does.
func TestWebSocketByConnect(t *testing.T) {
	rule := &rules{}
	p := start(t, Options{Policy: rule})
	addr := upgradingServer(t)
	c, br, res := connect(t, p, addr, "")
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	chat(t, p, c, br, "/", addr)
	_, port, _ := net.SplitHostPort(addr)
	if q := rule.checkedHosts(); len(q) != 2 || q[1] != "http|127.0.0.1|"+port {
		t.Errorf("checked hosts %q", q)
	}
}

// TestPathDecision sends requests to a server that has one denied path.
func TestPathDecision(t *testing.T) {
	const headers = " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	var mu sync.Mutex
	var arrived []string
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		arrived = append(arrived, r.RequestURI)
	})
	p := start(t, Options{Policy: &rules{hosts: map[string]string{"127.0.0.1/denied": "blocked path"}}})
	if res, _ := get(t, client(t, p), "http://127.0.0.1:"+port+"/denied?q"); res.StatusCode != http.StatusForbidden {
		t.Errorf("http: %s", res.Status)
	}
	for request, want := range map[string]int{
		"GET /denied" + headers + "\r\n":                                         403,
		"GET /denied?q" + headers + "\r\n":                                       403,
		"GET /denied" + headers + "X: " + strings.Repeat("x", 9000) + "\r\n\r\n": 403,
		// The first request is checked, and the tunnel carries no second one.
		"GET /allowed" + headers + "\r\nGET /denied" + headers + "\r\n": 200,
		"GET /allowed" + headers + "\r\n":                               200,
		// These are not requests of a browser.
		"\r\nGET /denied" + headers + "\r\n":                                   400,
		" GET /denied" + headers + "\r\n":                                      400,
		"get /denied" + headers + "\r\n":                                       400,
		"GET http://127.0.0.1/denied" + headers + "\r\n":                       400,
		"GET /denied HTTP/1.1\r\nHost: x\r\n\r\n":                              400,
		"GET /allowed" + headers + "Content-Length: 1\r\n\r\nx":                400,
		"GET /allowed" + headers + "X: " + strings.Repeat("x", maxHeaderBytes): 400,
	} {
		c, br, _ := connect(t, p, "127.0.0.1:"+port, request)
		res, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Errorf("%.40q: %v", request, err)
			continue
		}
		if res.StatusCode != want || !res.Close {
			t.Errorf("%.40q: %s, closes: %t, want %d", request, res.Status, res.Close, want)
		}
		if _, recorded := p.Denied("127.0.0.1:" + port); recorded != (want == 403) {
			t.Errorf("%.40q: denial recorded: %t", request, recorded)
		}
		io.Copy(io.Discard, res.Body)
		if rest, err := io.ReadAll(br); len(rest) != 0 {
			t.Errorf("%.40q: after the response: %q, %v", request, rest, err)
		}
		c.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(arrived, " "); got != "/allowed /allowed" {
		t.Errorf("the server received %s", got)
	}
}

// TestTunnelClientDisconnects closes the client's end of tunnels whose origin
// does not respond.
func TestTunnelClientDisconnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, Options{Policy: &rules{}})
	for _, sent := range []string{"", "\x16", "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"} {
		c, _, _ := connect(t, p, l.Addr().String(), sent)
		origin, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer origin.Close()
		origin.SetReadDeadline(time.Now().Add(await.HangLimit))
		if _, err := io.ReadFull(origin, make([]byte, len(sent))); err != nil {
			t.Errorf("%q: the origin received: %v", sent, err)
		}
		c.Close()
		if rest, err := io.ReadAll(origin); err != nil || len(rest) > 0 {
			t.Errorf("%q: after the client disconnected, the origin received %q, %v", sent, rest, err)
		}
	}
}

func TestWebSocketByUpgrade(t *testing.T) {
	p := start(t, Options{Policy: &rules{}})
	addr := upgradingServer(t)
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(await.HangLimit))
	chat(t, p, c, bufio.NewReader(c), "http://"+addr+"/", addr)
}

// TestUpstream chains two proxies. Names use the second proxy, and only the second can resolve one
// of them. Loopback hosts are dialed directly.
func TestUpstream(t *testing.T) {
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) })
	second := &rules{}
	up := start(t, Options{
		Policy: second, Credentials: url.UserPassword("u", "p"),
		Resolver: names{"far.test": {"127.0.0.1"}, "known.test": {"127.0.0.1"}},
	})
	p := start(t, Options{
		Policy:   &rules{addrs: map[netip.Addr]string{netip.MustParseAddr("10.0.0.1"): "private address"}},
		Upstream: &url.URL{Scheme: "http", Host: up.Addr(), User: url.UserPassword("u", "p")},
		Resolver: names{"known.test": {"93.184.216.34"}, "rebound.test": {"10.0.0.1"}},
	})
	c := client(t, p)
	for _, host := range []string{"far.test", "known.test", "localhost"} {
		req, _ := http.NewRequest("GET", "http://"+host+":"+port+"/x", nil)
		req.URL.Opaque = "//" + host + ":" + port + "/a|b"
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || string(body) != "/a|b" {
			t.Errorf("%s: %d %q", host, res.StatusCode, body)
		}
		conn, br, res := connect(t, p, host+":"+port, "")
		if res.StatusCode != 200 {
			t.Errorf("CONNECT %s: %s", host, res.Status)
			continue
		}
		io.WriteString(conn, "GET /t HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		if b, _ := io.ReadAll(br); !strings.HasSuffix(string(b), "/t") {
			t.Errorf("CONNECT %s: %q", host, b)
		}
	}
	if _, _, res := connect(t, p, "rebound.test:"+port, ""); res.StatusCode != 403 {
		t.Errorf("private address through the upstream proxy: %s", res.Status)
	}
	got := strings.Join(second.checkedHosts(), " ")
	want := "http|far.test|P |far.test|P http|far.test|P http|known.test|P |known.test|P http|known.test|P"
	if got != strings.ReplaceAll(want, "P", port) {
		t.Errorf("hosts checked by the upstream proxy: %s", got)
	}
}

func TestNoProxy(t *testing.T) {
	p := start(t, Options{
		Policy: &rules{}, Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, NoProxy: "near.test,.below.test,198.51.100.0/24,port.test:81",
		Resolver: names{"far.test": {"93.184.216.34"}, "xnear.test": {"93.184.216.34"}},
	})
	for host, want := range map[string]bool{
		"near.test:80": true, "a.near.test:443": true, "a.below.test:80": true, "198.51.100.7:80": true, "port.test:81": true, "localhost:80": true,
		"far.test:80": false, "xnear.test:80": false, "198.51.101.7:80": false, "port.test:80": false,
	} {
		at, err := parseHostPort(host, 0)
		if err != nil {
			t.Fatal(err)
		}
		if direct, err := p.goesDirect(t.Context(), at); err != nil || direct != want {
			t.Errorf("%s goes directly: %t, %v, want %t", host, direct, err, want)
		}
	}
}

func TestParseUpstream(t *testing.T) {
	for address, want := range map[string]string{
		"http://proxy.test:3128": "http://proxy.test:3128", "proxy.test:3128": "http://proxy.test:3128", "http://u:p@proxy.test": "http://u:p@proxy.test",
		"socks5://proxy.test:1080": "", "https://proxy.test": "", "http://": "", "http://u:secret@pro xy.test": "",
	} {
		u, err := ParseUpstream(address)
		if (err == nil) != (want != "") || err == nil && u.String() != want {
			t.Errorf("%q is %v, %v, want %q", address, u, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestUpstreamRejects(t *testing.T) {
	up := start(t, Options{Policy: &rules{}, Credentials: url.UserPassword("u", "p")})
	p := start(t, Options{Policy: &rules{}, Upstream: &url.URL{Scheme: "http", Host: up.Addr()}, Resolver: names{}})
	if _, _, res := connect(t, p, "far.test:443", ""); res.StatusCode != 502 {
		t.Errorf("got %s", res.Status)
	}
	if name, _ := p.Failed("far.test"); name != "net::ERR_PROXY_CONNECTION_FAILED" {
		t.Errorf("Failed returns %q, want the error of the upstream proxy", name)
	}
	if _, err := New(Options{Upstream: &url.URL{Scheme: "socks5", Host: "h:1"}}); err == nil {
		t.Error("a socks5 upstream was accepted")
	}
}

func TestMaxConns(t *testing.T) {
	policy := &rules{}
	p := start(t, Options{Policy: policy, MaxConns: 1})
	addr := echo(t)
	first, tunnel, _ := connect(t, p, addr, "")
	second, err := net.Dial("tcp", p.Addr()) // the kernel accepts it, but the proxy does not yet
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	fmt.Fprintf(second, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", addr)
	before := len(policy.checkedHosts())
	for range 100 { // in which the proxy could serve the second
		fmt.Fprintln(first, "\x16x")
		if line, err := tunnel.ReadString('\n'); err != nil || line != "\x16x\n" {
			t.Fatalf("the first tunnel returned %q, %v", line, err)
		}
	}
	if after := len(policy.checkedHosts()); after != before {
		t.Fatal("a second connection was served concurrently with the first")
	}
	first.Close()
	second.SetReadDeadline(time.Now().Add(await.HangLimit))
	res, err := http.ReadResponse(bufio.NewReader(second), &http.Request{Method: "CONNECT"})
	if err != nil || res.StatusCode != 200 {
		t.Errorf("after the first was closed: %v %v", res, err)
	}
}

// TestUnauthenticatedConnectionsDoNotBlockClients checks that connections without credentials, in
// any number, neither block a client nor close its connection.
func TestUnauthenticatedConnectionsDoNotBlockClients(t *testing.T) {
	const slots = 8
	p := start(t, Options{Policy: &rules{}, MaxConns: slots, Credentials: url.UserPassword("user", "secret")})
	s, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })
	c := client(t, p)
	get(t, c, s.URL)
	flood := func() {
		for i := range 12 * slots {
			conn, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			if i%2 == 0 { // these receive a response and stay open
				fmt.Fprint(conn, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n")
			}
		}
	}
	for range 5 {
		flood()
		c.CloseIdleConnections() // the next request uses a new connection
		if res, body := get(t, c, s.URL); res.StatusCode != http.StatusOK || body != "page" {
			t.Errorf("got %s %q", res.Status, body)
		}
	}
	addr := echo(t)
	tunnel, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer tunnel.Close()
	fmt.Fprintf(tunnel, "CONNECT %s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\n\r\n", addr, basic("user", "secret"))
	br := bufio.NewReader(tunnel)
	if res, err := http.ReadResponse(br, &http.Request{Method: "CONNECT"}); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	flood()
	fmt.Fprintln(tunnel, "\x16still here")
	tunnel.SetReadDeadline(time.Now().Add(await.HangLimit))
	if line, err := br.ReadString('\n'); err != nil || line != "\x16still here\n" {
		t.Errorf("the tunnel returned %q, %v", line, err)
	}
}

func TestHugeHeader(t *testing.T) {
	p := start(t, Options{Policy: &rules{}})
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go fmt.Fprintf(c, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("a", 2*maxHeaderBytes))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %v %v", res, err)
	}
}

func TestOutcomeCacheBounded(t *testing.T) {
	v := newOutcomeCache()
	for i := range 3 * maxCachedOutcomes {
		v.Add(fmt.Sprintf("h%d.test:443", i), &deniedError{io.EOF})
	}
	if v.Len() != maxCachedOutcomes {
		t.Errorf("%d outcomes are stored", v.Len())
	}
	latest := fmt.Sprintf("h%d.test", 3*maxCachedOutcomes-1)
	if _, ok := v.find(latest, true); !ok {
		t.Error("the latest outcome is missing")
	}
	v.Remove(latest + ":443")
	if _, ok := v.find(latest, true); ok {
		t.Error("a reached host counts as denied")
	}
}

func BenchmarkForward(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 16<<10)) }))
	defer s.Close()
	fetch := func(b *testing.B, c *http.Client) {
		b.SetBytes(16 << 10)
		for b.Loop() {
			res, err := c.Get(s.URL)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	b.Run("direct", func(b *testing.B) { fetch(b, s.Client()) })
	b.Run("proxied", func(b *testing.B) { fetch(b, client(b, start(b, Options{Policy: &rules{}}))) })
}
