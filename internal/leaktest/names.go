package leaktest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/policy"
)

// A Resolver resolves the names of the test sites for a proxy, and records the names that it is
// called with. It is safe for concurrent use.
type Resolver struct {
	mu    sync.Mutex
	asked []string // guarded by mu
}

// LookupNetIP resolves names below .test, except below names.test.
func (r *Resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, host)
	if strings.HasSuffix(host, ".test") && !strings.HasSuffix(host, dnsSuffix) {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Asked returns the names that LookupNetIP was called with.
func (r *Resolver) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// A PublicNamesPolicy is a policy for which the names of the test sites have public addresses,
// although their servers run on this machine.
type PublicNamesPolicy struct{ *policy.Policy }

// CheckAddr is like [policy.Policy.CheckAddr], but checks a public address for the test sites.
func (p PublicNamesPolicy) CheckAddr(host string, port int, addr netip.Addr) error {
	if strings.HasSuffix(host, ".test") && addr.IsLoopback() {
		addr = netip.MustParseAddr(public)
	}
	return p.Policy.CheckAddr(host, port, addr)
}

// NetLog returns a file for a browser's network log, and the flag that enables the log.
func NetLog(t testing.TB) (file, flag string) {
	file = t.TempDir() + "/netlog.json"
	return file, "--log-net-log=" + file
}

// LookedUp returns the names that a browser resolved with the system or a DNS server, from its
// network log. The browser must have exited.
func LookedUp(t testing.TB, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the browser was never started
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kinds := map[int]bool{}
	var names []string
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		text := strings.TrimSuffix(strings.TrimSpace(string(line)), ",")
		switch {
		case strings.HasPrefix(text, `{"constants":`):
			var head struct {
				Constants struct {
					Types map[string]int `json:"logEventTypes"`
				} `json:"constants"`
			}
			if err := json.Unmarshal([]byte(text+"}"), &head); err != nil {
				t.Fatalf("invalid network log: %v", err)
			}
			for _, name := range []string{"HOST_RESOLVER_SYSTEM_TASK", "HOST_RESOLVER_DNS_TASK", "HOST_RESOLVER_MANAGER_JOB"} {
				if n, ok := head.Constants.Types[name]; ok {
					kinds[n] = true
				}
			}
			if len(kinds) == 0 {
				t.Fatal("the network log has no event types of name resolution")
			}
		case strings.HasPrefix(text, "{"):
			var ev struct {
				Type   int `json:"type"`
				Params struct {
					Host     string `json:"host"`
					Hostname string `json:"hostname"`
				} `json:"params"`
			}
			if json.Unmarshal([]byte(text), &ev) == nil && kinds[ev.Type] {
				name := ev.Params.Host + ev.Params.Hostname
				if i := strings.Index(name, "://"); i >= 0 {
					name = name[i+3:]
				}
				if host, _, err := net.SplitHostPort(name); err == nil {
					name = host
				}
				if name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		if err != nil {
			return names
		}
	}
}
