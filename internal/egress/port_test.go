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
