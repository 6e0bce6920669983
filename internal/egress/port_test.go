package egress

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
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
	if !allows.Challenged("127.0.0.1") || !denies.Challenged("127.0.0.1") {
		t.Error("a request without credentials was not recorded for each proxy")
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
