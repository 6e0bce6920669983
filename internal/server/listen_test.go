package server

import (
	"net"
	"strings"
	"testing"
)

// TestListenHTTPFamily checks that 0.0.0.0 is not an address of IPv6.
func TestListenHTTPFamily(t *testing.T) {
	listener, err := ListenHTTP(HTTPOptions{Address: "0.0.0.0:0", BehindProxy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(listener.URL(), "http://"))
	if err != nil || host != "0.0.0.0" {
		t.Fatalf("the listener has the URL %s: %v", listener.URL(), err)
	}
	six, err := net.Listen("tcp6", net.JoinHostPort("::1", port))
	if err != nil && !strings.Contains(err.Error(), "cannot assign") && !strings.Contains(err.Error(), "not supported") { // this machine has no IPv6
		t.Errorf("the port of IPv6 is in use: %v", err)
	}
	if err == nil {
		six.Close()
	}
}
