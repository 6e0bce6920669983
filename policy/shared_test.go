package policy

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// The extension implements the same policy in JavaScript. Its tests read the same files, so that
// both implementations decide alike.

func readShared(t *testing.T, name string, cases any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "internal", "wire", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, cases); err != nil {
		t.Fatal(err)
	}
}

func TestSharedCases(t *testing.T) {
	var cases []struct {
		Allow, Block, Resources, Private []string
		Subresources                     Subresources
		UnsafeAll                        bool
		OwnPorts                         []int
		URL                              string
		Verdict                          string // on a document at URL: allow or deny
		Load                             string // on a page's request to URL; empty means not tested
	}
	readShared(t, "patterns.json", &cases)
	for _, c := range cases {
		p, err := New(Config{
			AllowDomains: c.Allow, BlockDomains: c.Block, SubresourceDomains: c.Resources, AllowPrivate: c.Private,
			Subresources: c.Subresources, AllDomains: c.UnsafeAll, OwnPorts: c.OwnPorts,
		})
		if err != nil {
			t.Errorf("%s: %v", c.URL, err)
			continue
		}
		if got := verdict(p.checkSerializedURL(c.URL)); got != c.Verdict {
			t.Errorf("allow %v block %v: document %s: %s, want %s", c.Allow, c.Block, c.URL, got, c.Verdict)
		}
		if c.Load == "" {
			continue
		}
		if got := verdict(p.checkLoad(t, c.URL)); got != c.Load {
			t.Errorf("allow %v block %v %s: request to %s: %s, want %s", c.Allow, c.Block, c.Subresources, c.URL, got, c.Load)
		}
	}
}

func verdict(err error) string {
	if err != nil {
		return "deny"
	}
	return "allow"
}

// checkLoad decides on a page's request as network enforcement does: by host, by path if it is
// visible, and by address if the host is an address.
func (p *Policy) checkLoad(t *testing.T, raw string) error {
	t.Helper()
	if p.allowsNoSite() {
		return deniedEmpty()
	}
	u, err := url.Parse(raw)
	if err != nil {
		u = &url.URL{Scheme: "http"} // a path that Go cannot read
		s, parseErr := parseDocument(raw)
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		return p.checkBlocked(s, true)
	}
	scheme := map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	if scheme == "" {
		scheme = u.Scheme
	}
	s, err := parseDocument(scheme + "://" + u.Host + u.EscapedPath())
	if err != nil {
		return err
	}
	if err := p.CheckHost(scheme, s.host, int(s.port)); err != nil {
		return err
	}
	if err := p.checkBlocked(s, true); err != nil {
		return err
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return p.CheckAddr(s.host, int(s.port), addr)
	}
	return nil
}

func TestSharedSyntax(t *testing.T) {
	var cases []struct {
		Pattern string
		OK      bool
	}
	readShared(t, "pattern-syntax.json", &cases)
	for _, c := range cases {
		if _, err := ParsePattern(c.Pattern); (err == nil) != c.OK {
			t.Errorf("pattern %q: %v, want ok %v", c.Pattern, err, c.OK)
		}
	}
}
