package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHostOfDefaultPort checks that clients can omit the default port of the scheme, and no other.
func TestHostOfDefaultPort(t *testing.T) {
	local := net.IPv4(192, 168, 1, 5)
	for _, tt := range []struct {
		scheme string
		listen net.IP
		port   int
		host   string
		ok     bool
	}{
		{"http", local, 80, "192.168.1.5", true},
		{"http", local, 80, "192.168.1.5:80", true},
		{"http", local, 80, "server.test", true},
		{"http", local, 80, "other.test", false},
		{"http", local, 443, "192.168.1.5", false},
		{"https", local, 443, "SERVER.test", true},
		{"https", local, 80, "server.test", false},
		{"https", local, 8443, "server.test", false},
		{"http", net.IPv6loopback, 80, "[::1]", true},
		{"http", net.IPv6loopback, 80, "::1", false},
		{"http", net.IPv4zero, 80, "192.168.1.5", true},
		{"http", net.IPv4zero, 80, "192.168.1.5:80", true},
		{"http", net.IPv4zero, 80, "localhost", true},
		{"http", net.IPv4zero, 80, "192.168.1.6", false},
		{"https", net.IPv4zero, 443, "192.168.1.5", true},
		{"https", net.IPv4zero, 443, "192.168.1.5:80", false},
		{"https", net.IPv4zero, 80, "192.168.1.5", false},
	} {
		check := newHostCheck(&net.TCPAddr{IP: tt.listen, Port: tt.port}, "server.test", tt.scheme, nil)
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: local, Port: tt.port})
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		r.Host = tt.host
		if got := check.check(r); (got == "") != tt.ok {
			t.Errorf("%s on %v port %d, Host %s: %q", tt.scheme, tt.listen, tt.port, tt.host, got)
		}
		r.Header.Set("Origin", tt.scheme+"://"+strings.ToLower(tt.host))
		if got := check.check(r); (got == "") != tt.ok {
			t.Errorf("%s on %v port %d, its Origin: %q", tt.scheme, tt.listen, tt.port, got)
		}
	}
}
