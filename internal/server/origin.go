package server

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A hostCheck rejects requests that pages send or that use another name of the server. A page can
// make a browser connect to any address, by any name that resolves to it. It cannot choose its
// Origin, and Host is the name that it used.
type hostCheck struct {
	scheme  string // of the listener: http or https
	hosts   []string
	origins []string
	any     bool // the listener has all addresses of the machine
}

// newHostCheck returns the check for a listener. host is the name or address by which it was
// configured. public is the URL that clients use, or nil.
func newHostCheck(addr *net.TCPAddr, host, scheme string, public *url.URL) *hostCheck {
	c := &hostCheck{scheme: scheme, any: addr.IP.IsUnspecified() || len(addr.IP) == 0}
	var names []string
	if !c.any {
		names = append(names, addr.IP.String(), host)
	}
	if c.any || addr.IP.IsLoopback() {
		names = append(names, "localhost", "127.0.0.1", "::1")
	}
	for _, name := range names {
		c.add(scheme, name, strconv.Itoa(addr.Port))
	}
	if public != nil {
		c.add(public.Scheme, public.Hostname(), public.Port())
	}
	return c
}

// defaultPort maps a scheme to the port that a URL, Host and Origin of the scheme can omit.
var defaultPort = map[string]string{"http": "80", "https": "443"}

// add allows a host and its origin.
func (c *hostCheck) add(scheme, name, port string) {
	for _, host := range hostsOf(scheme, name, cmp.Or(port, defaultPort[scheme])) {
		c.hosts = append(c.hosts, host)
		c.origins = append(c.origins, scheme+"://"+host)
	}
}

// hostsOf returns the values of Host for a server: with the port, and without it if it is the
// default port of the scheme.
func hostsOf(scheme, name, port string) []string {
	host := net.JoinHostPort(strings.ToLower(name), port)
	if port == defaultPort[scheme] {
		return []string{host, strings.TrimSuffix(host, ":"+port)}
	}
	return []string{host}
}

// check returns the reason why a request is rejected, or "".
func (c *hostCheck) check(r *http.Request) string {
	hosts, origins := c.hosts, c.origins
	if c.any {
		for _, host := range c.localHosts(r) {
			hosts, origins = append(slices.Clip(hosts), host), append(slices.Clip(origins), c.scheme+"://"+host)
		}
	}
	if !slices.Contains(hosts, strings.ToLower(r.Host)) {
		return "host"
	}
	if origin := r.Header.Values("Origin"); len(origin) > 1 || len(origin) == 1 && !slices.Contains(origins, origin[0]) {
		return "origin"
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "none" && site != "same-origin" {
			return "fetch-site"
		}
	}
	return ""
}

// localHosts returns the values of Host for the address and port at which a request arrived.
func (c *hostCheck) localHosts(r *http.Request) []string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return nil
	}
	return hostsOf(c.scheme, addr.IP.String(), strconv.Itoa(addr.Port))
}
