package egress

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
)

// TestPortSelectsProxyByCredentials serves two proxies with different policies on one port.
func TestPortSelectsProxyByCredentials(t *testing.T) {
	_, port := serve(t, func(http.ResponseWriter, *http.Request) {})
	p, err := NewPort(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(user string, policy *rules) *Proxy {
		proxy, err := p.New(Options{Policy: policy, Credentials: url.UserPassword(user, "secret")})
		if err != nil {
			t.Fatal(err)
		}
		return proxy
	}
	allows, denies := open("a", &rules{}), open("b", &rules{hosts: map[string]string{"127.0.0.1": "denied"}})
	target := "http://127.0.0.1:" + port + "/"
	for range 5 { // the iteration order of a map is random
		for proxy, want := range map[*Proxy]int{allows: http.StatusOK, denies: http.StatusForbidden} {
			if res, _ := get(t, client(t, proxy), target); res.StatusCode != want {
				t.Errorf("%s: %d, want %d", proxy.Credentials().Username(), res.StatusCode, want)
			}
		}
	}
	stranger := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr()}), DisableKeepAlives: true}
	if res, _ := get(t, &http.Client{Transport: stranger}, target); res.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("without credentials: %d", res.StatusCode)
	}
	for _, proxy := range []*Proxy{allows, denies} {
		if _, ok := proxy.Challenged("127.0.0.1"); !ok {
			t.Error("a request without credentials was not recorded for each proxy")
		}
	}
	if _, ok := denies.Denied("127.0.0.1"); !ok {
		t.Error("a request without credentials replaced the denial of a proxy")
	}
	get(t, client(t, denies), target)
	if _, ok := denies.Challenged("127.0.0.1"); ok {
		t.Error("a host that was denied later counts as challenged")
	}
	if _, ok := allows.Challenged("127.0.0.1"); !ok {
		t.Error("a request to one proxy removed the record of the other")
	}

	// The end of one proxy does not affect the other.
	if err := denies.Close(); err != nil {
		t.Fatal(err)
	}
	if res, _ := get(t, client(t, denies), target); res.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("after its end: %d", res.StatusCode)
	}
	if res, _ := get(t, client(t, allows), target); res.StatusCode != http.StatusOK {
		t.Errorf("the other proxy: %d", res.StatusCode)
	}
	if err := errors.Join(allows.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestPortLimitsRequestsOfEachProxy holds the only request that one proxy may have in progress. The
// other proxy on the port is not affected.
func TestPortLimitsRequestsOfEachProxy(t *testing.T) {
	held, end := make(chan struct{}), make(chan struct{})
	_, port := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			close(held)
			<-end
		}
	})
	p, err := NewPort(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	open := func(user string) *Proxy {
		proxy, err := p.New(Options{Policy: &rules{}, Credentials: url.UserPassword(user, "secret"), MaxConns: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { proxy.Close() })
		return proxy
	}
	full, other := open("a"), open("b")
	target := "http://127.0.0.1:" + port
	done := make(chan struct{})
	go func() {
		defer close(done)
		if res, err := client(t, full).Get(target + "/hold"); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("the held request: %v, %v", res, err)
		}
	}()
	<-held
	if res, _ := get(t, client(t, full), target); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("beyond the limit: %d", res.StatusCode)
	}
	if res, _ := get(t, client(t, other), target); res.StatusCode != http.StatusOK {
		t.Errorf("the other proxy: %d", res.StatusCode)
	}
	close(end)
	<-done
}

// TestPortClosesProxyOfUnreadResponse closes a proxy while its client does not read the response.
// The connections of the other proxy on the port stay open.
func TestPortClosesProxyOfUnreadResponse(t *testing.T) {
	var written atomic.Int64 // by the server, until all buffers up to the client are full
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/endless" {
			return
		}
		block := make([]byte, 1<<16)
		for err := error(nil); err == nil; {
			var n int
			n, err = w.Write(block)
			written.Add(int64(n))
		}
	})
	p, err := NewPort(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	// connect returns a connection of a new proxy after a request for path.
	connect := func(user, path string) (*Proxy, net.Conn, *bufio.Reader) {
		proxy, err := p.New(Options{Policy: &rules{}, Credentials: url.UserPassword(user, "secret")})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "GET http://127.0.0.1:%s%s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\n\r\n", port, path, basic(user, "secret"))
		in := bufio.NewReader(conn)
		res, err := http.ReadResponse(in, nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		return proxy, conn, in
	}
	other, conn, in := connect("b", "/")
	defer other.Close()
	slow, _, _ := connect("a", "/endless")
	last, pauses := int64(0), 0
	await.Until(t, "a server that cannot write", func() bool {
		if n := written.Load(); n == 0 || n != last {
			last, pauses = n, 0
		}
		pauses++
		return pauses == 50
	})
	closed := make(chan error, 1)
	go func() { closed <- slow.Close() }()
	if err := await.Receive(t, "the end of the proxy", closed); err != nil {
		t.Error(err)
	}
	fmt.Fprintf(conn, "GET http://127.0.0.1:%s/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\n\r\n", port, basic("b", "secret"))
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the connection of the other proxy: %v, %v", res, err)
	}
}
