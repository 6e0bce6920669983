package policy

import "testing"

func TestCheckCookies(t *testing.T) {
	p, err := New(Config{AllowDomains: []string{"http://localhost:8080", "https://shop.example", "https://*.example.org:8443"}, BlockDomains: []string{"bad.example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		scheme, host string
		allowed      bool
	}{
		{"http", "localhost", true},
		{"https", "localhost", false},
		{"https", "shop.example", true},
		{"http", "shop.example", false},
		{"https", "a.example.org", true},
		{"https", "bad.example.org", false},
		{"https", "other.example", false},
		{"https", "localhost:8080/@shop.example", false},
		{"https", "", false},
	} {
		if err := p.CheckCookies(tt.scheme, tt.host); (err == nil) != tt.allowed {
			t.Errorf("%s, %q: %v, want allowed %v", tt.scheme, tt.host, err, tt.allowed)
		}
	}
	if err := (*Policy)(nil).CheckCookies("https", "shop.example"); err == nil {
		t.Error("a nil Policy allows cookies")
	}
}
