package policy

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
)

func mustNew(t testing.TB, c Config) *Policy {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// denied fails unless err is a denial that names no --unsafe- flag and contains no secret.
func denied(t *testing.T, what string, err error) *executor.Error {
	t.Helper()
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || e.Code != executor.ErrPolicyDenied {
		t.Errorf("%s: %v, want POLICY_DENIED", what, err)
		return &executor.Error{}
	}
	if strings.Contains(e.Message()+e.Hint, "--unsafe") || strings.Contains(e.Message()+e.Hint, "secret") {
		t.Errorf("%s: forbidden text in the denial: %v %s", what, e, e.Hint)
	}
	return e
}

func TestZeroPolicyDenies(t *testing.T) {
	for _, p := range []*Policy{nil, {}, mustNew(t, Config{}), mustNew(t, Config{Mutations: true, Eval: true, Downloads: true, Subresources: SubresourcesPublic})} {
		_, err := p.CheckURL("https://example.com/")
		denied(t, "url", err)
		_, err = p.CheckURL("about:blank")
		denied(t, "blank", err)
		for _, o := range []string{"https://example.com", "null", ""} {
			denied(t, "origin "+o, p.CheckOrigin(o, ""))
		}
		denied(t, "host", p.CheckHost("https", "example.com", 443))
		denied(t, "addr", p.CheckAddr("example.com", 443, netip.MustParseAddr("93.184.216.34")))
		if p.Status() == nil || p.Subresources() == "" {
			t.Error("no status")
		}
		_ = p.Notes()
	}
}

func TestCheckURL(t *testing.T) {
	p := mustNew(t, Config{
		AllowDomains: []string{"example.com", "*.example.com", "localhost:*", "127.0.0.1:*", "http://10.0.0.5", "google.com", "*.google.com"},
		BlockDomains: []string{"ads.example.com", "example.com/admin"},
		OwnPorts:     []int{38017},
	})
	p.AddOwnPort(38018)
	p.AddOwnPorts(func() []int { return []int{38019} })
	for _, u := range []string{"https://example.com/", "https://a.example.com/x", "http://localhost:3000/", "https://127.0.0.1:9/", "about:blank", "https://chrome.google.com/", "https://example.com/ok?/admin"} {
		if got, err := p.CheckURL(u); err != nil || got != u {
			t.Errorf("%s: %q %v", u, got, err)
		}
	}
	for u, hint := range map[string]string{
		"https://evil.com/secret":                  "Config.AllowDomains evil.com.",
		"http://example.com/secret":                "Config.AllowDomains http://example.com.",
		"https://example.com:8443/secret":          "Config.AllowDomains example.com:8443.",
		"http://[::1]:5/secret":                    "Config.AllowDomains [::1]:5.",
		"http://10.0.0.5/secret":                   "Config.AllowPrivate 10.0.0.5/32.",
		"http://10.0.0.6/secret":                   "Config.AllowDomains http://10.0.0.6 and Config.AllowPrivate 10.0.0.6/32.",
		"https://com/secret":                       "Use another site.",
		"https://ads.example.com/secret":           "blocked",
		"https://x.ads.example.com/secret":         "blocked",
		"https://example.com/admin/secret":         "blocked",
		"http://localhost:38017/secret":            "cannot be allowed",
		"http://127.0.0.1:38018/secret":            "cannot be allowed",
		"http://[::1]:38019/secret":                "cannot be allowed",
		"http://0.0.0.0:38018/secret":              "cannot be allowed",
		"https://chromewebstore.google.com/secret": "cannot be allowed",
		"https://chrome.google.com/webstore/x":     "cannot be allowed",
		"http://169.254.169.254/secret":            "cannot be allowed",
		"http://metadata.google.internal/secret":   "cannot be allowed",
		"file:///secret":                           "Only http",
	} {
		_, err := p.CheckURL(u)
		if e := denied(t, u, err); !strings.Contains(e.Hint, hint) || (hint == "" && e.Hint != "") {
			t.Errorf("%s: hint %q, want %q", u, e.Hint, hint)
		}
	}
}

// TestHintsWork applies the settings in the hint of each denial and checks the URL again.
func TestHintsWork(t *testing.T) {
	for _, u := range []string{"https://evil.com/", "http://evil.com/", "https://evil.com:8443/", "http://evil.com:8080/", "http://[::1]:5/", "http://localhost/", "https://10.0.0.6:4/", "http://[fd00::1]/"} {
		_, err := mustNew(t, Config{AllowDomains: []string{"example.com"}}).CheckURL(u)
		words := strings.Fields(strings.TrimSuffix(denied(t, u, err).Hint, "."))
		c := Config{}
		for i, w := range words {
			switch w {
			case "Config.AllowDomains":
				c.AllowDomains = append(c.AllowDomains, words[i+1])
			case "Config.AllowPrivate":
				c.AllowPrivate = append(c.AllowPrivate, words[i+1])
			}
		}
		if _, err := mustNew(t, c).CheckURL(u); err != nil {
			t.Errorf("%s: after following the hint %q: %v", u, words, err)
		}
	}
}

func TestCheckOrigin(t *testing.T) {
	p := mustNew(t, Config{AllowDomains: []string{"example.com", "localhost"}, BlockDomains: []string{"example.com/admin"}, OwnPorts: []int{9999}})
	for _, a := range [][2]string{
		{"https://example.com", "https://example.com/x|y'z"},
		{"https://example.com", "https://user:pw@example.com/"},
		{"https://example.com", "about:srcdoc"},
		{"https://example.com", "about:blank"},
		{"https://example.com", "blob:https://example.com/0a-b"},
		{"http://localhost:3000", "http://localhost:3000/"},
		{"", "about:blank"},
		{"", ""},
		{"", "chrome-error://chromewebdata/"},
	} {
		if err := p.CheckOrigin(a[0], a[1]); err != nil {
			t.Errorf("%q: %v", a, err)
		}
	}
	for _, a := range [][2]string{
		{"https://evil.com", "https://evil.com/secret"},
		{"null", "https://example.com/"},
		{"null", "data:text/html,secret"},
		{"://", ""},
		{"https://example.com", ""}, // it may be below /admin
		{"https://example.com", "https://example.com/admin/secret"},
		{"https://example.com", "https://evil.com/secret"},
		{"https://example.com", "view-source:https://example.com/"},
		{"https://example.com", "filesystem:https://example.com/"},
		{"https://example.com", "blob:https://evil.com/x"},
		{"https://example.com", "blob:null/x"},
		{"https://example.com", "data:text/html,secret"},
		{"http://example.com", "http://example.com/"},
		{"https://example.com.", ""},
		{"https://Example.com", ""},
		{"https://example.com/", ""},
		{"https://a@example.com", ""},
		{"https://example.com:443", ""},
		{"http://localhost:9999", "http://localhost:9999/"},
		{"chrome://newtab", "chrome://newtab/"},
		{"chrome-extension://abc", "chrome-extension://abc/x"},
		{"file://", "file:///secret"},
		{"", "https://evil.com/secret"},
		{"", "chrome://settings/"},
		{"nonsense", ""},
	} {
		denied(t, a[0]+" "+a[1], p.CheckOrigin(a[0], a[1]))
	}
}

func TestCheckHost(t *testing.T) {
	base := Config{AllowDomains: []string{"example.com", "localhost:3000"}, BlockDomains: []string{"ads.net"}, OwnPorts: []int{7}}
	withTier := func(s Subresources, load ...string) *Policy {
		c := base
		c.Subresources, c.SubresourceDomains = s, load
		return mustNew(t, c)
	}
	evalled := base
	evalled.Eval = true
	all := base
	all.AllDomains, all.Subresources = true, SubresourcesSame
	for _, tt := range []struct {
		name    string
		p       *Policy
		allowed []string
		denied  []string
	}{
		{"public", withTier(""), []string{"|example.com|443", "http|cdn.net|80", "|cdn.net|9999", "|localhost|3000", "|8.8.8.8|53", "|[2606:4700::1]|443"},
			[]string{"|ads.net|443", "http|x.ads.net|80", "|localhost|3001", "|localhost|7", "|127.0.0.1|3000", "http|10.0.0.1|80", "|[fd00::1]|443", "|169.254.169.254|80", "|metadata.google.internal|80",
				"|CDN.net|443", "|cdn.net.|443", "|0x7f.1|80", "|cdn.net|0", "|cdn.net|65537", "ftp|cdn.net|21", "||1"}},
		{"same", withTier("same"), []string{"|example.com|443", "https|example.com|443", "|localhost|3000"}, []string{"http|example.com|80", "|example.com|80", "|cdn.net|443", "|www.example.com|443"}},
		{"eval", mustNew(t, evalled), []string{"|example.com|443"}, []string{"|cdn.net|443"}},
		{"list", withTier("list", "cdn.net"), []string{"|example.com|443", "|cdn.net|443"}, []string{"|other.net|443", "http|cdn.net|80"}},
		{"all", mustNew(t, all), []string{"|any.net|443", "http|any.net|80"}, []string{"|ads.net|443", "|localhost|3001", "|10.0.0.1|80"}},
	} {
		ask := func(s string) error {
			f := strings.Split(s, "|")
			port := 0
			for _, c := range f[2] {
				port = port*10 + int(c-'0')
			}
			return tt.p.CheckHost(f[0], f[1], port)
		}
		for _, s := range tt.allowed {
			if err := ask(s); err != nil {
				t.Errorf("%s: %s: %v", tt.name, s, err)
			}
		}
		for _, s := range tt.denied {
			denied(t, tt.name+" "+s, ask(s))
		}
	}
	if err := withTier("").CheckHost("http", "2606:4700::1", 80); err != nil {
		t.Errorf("IPv6 without brackets: %v", err)
	}
}

// TestCheckOwnAddr checks that an own port is denied at the addresses of the machine's interfaces,
// whatever name resolves to them, and not at other addresses.
func TestCheckOwnAddr(t *testing.T) {
	p := mustNew(t, Config{AllowDomains: []string{"wiki.internal:5000", "wiki.internal:5001"}, AllowPrivate: []string{"10.1.0.0/16"}, OwnPorts: []int{5000}})
	var failure error
	p.own.addresses.interfaces = func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.ParseIP("127.0.0.1"), Mask: net.CIDRMask(8, 32)},
			&net.IPNet{IP: net.ParseIP("10.1.2.3"), Mask: net.CIDRMask(16, 32)},
			&net.IPNet{IP: net.ParseIP("2606:4700::5"), Mask: net.CIDRMask(64, 128)},
		}, failure
	}
	check := func(host string, port int, addr string, allowed bool) {
		t.Helper()
		if err := p.CheckAddr(host, port, netip.MustParseAddr(addr)); (err == nil) != allowed {
			t.Errorf("%s:%d at %s: %v", host, port, addr, err)
		}
	}
	check("wiki.internal", 5000, "10.1.2.3", false)
	check("wiki.internal", 5000, "::ffff:10.1.2.3", false)
	check("example.com", 5000, "2606:4700::5", false)
	check("wiki.internal", 5001, "10.1.2.3", true)
	check("wiki.internal", 5000, "10.1.2.4", true)
	check("example.com", 5000, "2606:4700::6", true)
	p.own.addresses.listed = time.Time{}
	failure = errors.New("no list")
	check("example.com", 5000, "2606:4700::6", false)
	check("example.com", 5001, "2606:4700::6", true)
}

func TestCheckAddr(t *testing.T) {
	p := mustNew(t, Config{
		AllowDomains: []string{"example.com", "wiki.internal", "localhost:3000", "*.localhost", "127.0.0.1:4000", "[::1]", "http://10.1.2.3"},
		BlockDomains: []string{"8.8.8.8"},
		AllowPrivate: []string{"10.1.0.0/16", "169.254.0.0/16", "64:ff9b::/96"},
		OwnPorts:     []int{5000},
	})
	check := func(host string, port int, addr string) error {
		return p.CheckAddr(host, port, netip.MustParseAddr(addr))
	}
	for _, tt := range []struct {
		host string
		port int
		addr string
	}{
		{"example.com", 443, "93.184.216.34"}, {"cdn.net", 80, "2606:4700::1"}, {"wiki.internal", 443, "10.1.9.9"},
		{"wiki.internal", 443, "::ffff:10.1.9.9"}, {"localhost", 3000, "127.0.0.1"}, {"localhost", 3000, "::1"}, {"app.localhost", 9, "127.0.0.1"},
		{"127.0.0.1", 4000, "127.0.0.1"}, {"[::1]", 1, "::1"}, {"::1", 1, "::1"}, {"10.1.2.3", 80, "10.1.2.3"}, {"wiki.internal", 443, "64:ff9b::101:101"},
	} {
		if err := check(tt.host, tt.port, tt.addr); err != nil {
			t.Errorf("%v: %v", tt, err)
		}
	}
	for _, addr := range []string{
		"127.0.0.1", "127.9.9.9", "::1", "::", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
		"192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::1",
		"2002:7f00:1::", "2001::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "168.63.129.16", "8.8.8.8",
	} {
		if addr == "169.254.1.1" || addr == "64:ff9b::7f00:1" {
			denied(t, addr, check("cdn.net", 443, addr)) // allowed, but not for a host outside the allow list
			continue
		}
		denied(t, addr, check("example.com", 443, addr))
	}
	for _, tt := range []struct {
		host string
		port int
		addr string
	}{
		{"wiki.internal", 443, "64:ff9b::a9fe:a9fe"}, // metadata address embedded in IPv6
		{"cdn.net", 443, "10.1.9.9"}, {"localhost", 3001, "127.0.0.1"}, {"localhost", 3000, "93.184.216.34"}, {"localhost", 3000, "10.1.9.9"},
		{"app.localhost", 5000, "127.0.0.1"}, {"[::1]", 5000, "::1"}, {"127.0.0.1", 4000, "127.0.0.2"}, {"10.1.2.3", 80, "93.184.216.34"},
	} {
		denied(t, tt.host+" "+tt.addr, check(tt.host, tt.port, tt.addr))
	}
	denied(t, "no address", p.CheckAddr("example.com", 443, netip.Addr{}))
	if e := denied(t, "private", check("example.com", 443, "10.0.0.77")); strings.Contains(e.Message()+e.Hint, "10.0.0.77") {
		t.Errorf("the denial contains the address: %v", e)
	}
}

func TestAllDomains(t *testing.T) {
	p := mustNew(t, Config{AllDomains: true, AllowPrivate: []string{"10.0.0.0/8"}, BlockDomains: []string{"evil.com"}})
	for _, u := range []string{"https://any.net/", "http://any.net:81/", "http://10.0.0.1/"} {
		if _, err := p.CheckURL(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{"https://evil.com/", "http://localhost:1/", "http://127.0.0.1/", "http://[::1]/", "http://192.168.0.1/", "http://169.254.169.254/"} {
		_, err := p.CheckURL(u)
		denied(t, u, err)
	}
	denied(t, "rebinding", p.CheckAddr("any.net", 443, netip.MustParseAddr("127.0.0.1")))
	if n := p.Notes(); len(n) != 1 {
		t.Errorf("notes %q", n)
	}
}

func TestNewErrors(t *testing.T) {
	for want, c := range map[string]Config{
		`allow domain: "*.com" is a public suffix`:    {AllowDomains: []string{"*.com"}},
		`block domain: "a@b" has a user name`:         {BlockDomains: []string{"a@b"}},
		`allow private: "1.2.3.4" is not a CIDR`:      {AllowPrivate: []string{"1.2.3.4"}},
		`allow private: "8.0.0.0/8" is not a private`: {AllowPrivate: []string{"8.0.0.0/8"}},
		`allow private: "0.0.0.0/0" is not a private`: {AllowPrivate: []string{"0.0.0.0/0"}},
		`allow private: "10.1.2.3/8" has bits set`:    {AllowPrivate: []string{"10.1.2.3/8"}},
		`subresources: "all" is not one of`:           {Subresources: "all"},
		`subresource_domains: has an effect only`:     {SubresourceDomains: []string{"example.com"}},
		`own port 0 is not a port`:                    {OwnPorts: []int{0}},
	} {
		p, err := New(c)
		if err == nil || p != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, %v, want %q", c, p, err, want)
		}
	}
}

func TestMerge(t *testing.T) {
	a := Config{AllowDomains: []string{"a.com", "b.com"}, BlockDomains: []string{"x.com"}, Mutations: true, Subresources: SubresourcesPublic}
	b := Config{AllowDomains: []string{"b.com", "c.com"}, BlockDomains: []string{"y.com"}, Eval: true, Subresources: SubresourcesSame}
	for _, m := range []Config{a.Merge(b), b.Merge(a)} {
		if !slices.Contains(m.AllowDomains, "a.com") || !slices.Contains(m.AllowDomains, "c.com") || len(m.AllowDomains) != 3 || len(m.BlockDomains) != 2 ||
			!m.Mutations || !m.Eval || m.Downloads || m.Subresources != SubresourcesSame {
			t.Errorf("got %+v", m)
		}
	}
	if a.AllowDomains[1] != "b.com" || len(a.AllowDomains) != 2 {
		t.Error("Merge changed its receiver")
	}
	l := Config{Subresources: SubresourcesList, SubresourceDomains: []string{"cdn.net"}}
	if m := l.Merge(b); len(m.SubresourceDomains) != 0 || m.Subresources != SubresourcesSame {
		t.Errorf("got %+v", m)
	}
	if m := l.Merge(a); len(m.SubresourceDomains) != 1 || m.Subresources != SubresourcesList {
		t.Errorf("got %+v", m)
	}
	if _, err := New(Config{Subresources: "bogus"}.Merge(b)); err == nil {
		t.Error("Merge dropped an unknown tier")
	}
}

// TestEmptyPolicyDenialNamesSite checks that the denial of a policy without rules names the pattern
// that allows the requested site.
func TestEmptyPolicyDenialNamesSite(t *testing.T) {
	for _, p := range []*Policy{nil, {}, mustNew(t, Config{Mutations: true})} {
		for url, want := range map[string]string{
			"http://127.0.0.1:8123/": "Config.AllowDomains 127.0.0.1:8123.",
			"http://localhost/":      "Config.AllowDomains localhost:80.",
			"https://shop.example/x": "Config.AllowDomains shop.example.",
			"http://shop.example/":   "Config.AllowDomains http://shop.example.",
		} {
			x := NewGuard(p, nil).Wrap(&spy{})
			_, navigate := x.Navigate(t.Context(), url, nil)
			_, _, open := x.NewPage(t.Context(), &executor.NewPageOptions{URL: url})
			_, download := pagetest.Of(x, "").Download(t.Context(), &executor.DownloadOptions{URL: url})
			for _, err := range []error{navigate, open, download} {
				if e := denied(t, url, err); !strings.Contains(e.Hint, want) || !strings.Contains(e.Message(), "which is empty") {
					t.Errorf("%s: %s. %s", url, e.Message(), e.Hint)
				}
			}
		}
		if _, err := p.CheckURL("http://169.254.169.254/"); err == nil || strings.Contains(err.(*executor.Error).Hint, "Config.AllowDomains") {
			t.Errorf("metadata: %v, want a denial without a setting in its hint", err)
		}
		if _, err := p.CheckURL("chrome://settings"); err == nil || strings.HasPrefix(err.(*executor.Error).Message(), "chrome:") {
			t.Errorf("chrome: %v, want a message that can be capitalized", err)
		}
	}
}

// TestGrantDenialHints checks that the hints name what the user can allow.
func TestGrantDenialHints(t *testing.T) {
	for g, want := range map[grant]string{grantMutations: "allow changing pages", grantDownloads: "allow downloads", grantEval: "running JavaScript", grantUploads: "Config.UploadsDir", grantStorage: "Config.Storage", grantState: "Config.StateDir"} {
		if e := denied(t, want, deniedGrant(g)); !strings.Contains(e.Hint, want) {
			t.Errorf("hint %q, want %q in it", e.Hint, want)
		}
	}
}

func TestConfigErrorField(t *testing.T) {
	for field, c := range map[string]Config{
		"AllowDomains": {AllowDomains: []string{"a@b"}}, "BlockDomains": {BlockDomains: []string{"a@b"}},
		"AllowPrivate": {AllowPrivate: []string{"10/8"}}, "SubresourceDomains": {SubresourceDomains: []string{"a@b"}, Subresources: SubresourcesList},
	} {
		_, err := New(c)
		if e, ok := errors.AsType[*ConfigError](err); !ok || e.Field != field || e.Value == "" || e.Err == nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestEvalNotes(t *testing.T) {
	allow := []string{"example.com"}
	for want, c := range map[string]Config{
		"pages load from allowed hosts only": {AllowDomains: allow, Eval: true},
		"":                                   {AllowDomains: allow, Eval: true, Subresources: SubresourcesSame},
		"scripts can send data anywhere":     {AllowDomains: allow, Eval: true, Subresources: SubresourcesPublic},
	} {
		notes := strings.Join(mustNew(t, c).Notes(), "\n")
		if !strings.Contains(notes, want) || want == "" && notes != "" {
			t.Errorf("%+v: notes %q, want %q", c, notes, want)
		}
	}
}
