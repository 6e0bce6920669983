package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/userbrowser"
)

// seedVariable is the environment variable that sets another seed for the generated URLs.
const seedVariable = "CHROME_MCP_TEST_SEED"

func testSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(seedVariable), "1"), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	t.Logf("seed %d; set %s for another one", seed, seedVariable)
	return seed
}

// openChromium returns a session of a real browser. If no Chromium is installed, it skips the test,
// or fails it in CI.
func openChromium(t *testing.T, network chromium.NetworkPolicy) executor.Executor {
	t.Helper()
	userbrowser.Find(t)
	headless := true
	b, err := chromium.New(&chromium.Options{
		Browser: os.Getenv("CHROME_MCP_BROWSER"), Headless: &headless, Isolated: true, NoSandbox: os.Getuid() == 0,
		DataDir: t.TempDir(), Network: network,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	s, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// run calls an async JavaScript function with one argument in a tab, and decodes its result.
func run(ctx context.Context, t *testing.T, s executor.Executor, tab executor.TabID, function string, argument, result any) {
	t.Helper()
	arg, err := json.Marshal(argument)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pagetest.Of(s, tab).CDP(ctx, "Runtime.evaluate", map[string]any{
		"expression": "(" + function + ")(" + string(arg) + ")", "awaitPromise": true, "returnByValue": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := struct {
		Result    struct{ Value json.RawMessage }
		Exception *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}{}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Exception != nil {
		t.Fatalf("%s: %s", answer.Exception.Text, answer.Exception.Exception.Description)
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		t.Fatalf("%.200s: %v", answer.Result.Value, err)
	}
}

// A parsedURL is a URL as Chromium parses it.
type parsedURL struct {
	Href, Protocol, Hostname, Port, Origin string
	Decisions                              []bool // of the extension, one per policy
}

func (p *parsedURL) port() int {
	if p.Port == "" {
		return int(defaultPort(strings.TrimSuffix(p.Protocol, ":")))
	}
	n, _ := strconv.Atoi(p.Port)
	return n
}

// readURLs is a function that parses URLs in Chromium, and applies the extension's policies to the
// results. It returns null for a URL that Chromium rejects.
const readURLs = `async ({ urls, policies }) => {
  const { compile, decide } = await import('/policy.js');
  const rules = policies.map((p) => compile(p));
  return urls.map((text) => {
    let u;
    try { u = new URL(text); } catch { return null; }
    return { href: u.href, protocol: u.protocol, hostname: u.hostname, port: u.port, origin: u.origin,
      decisions: rules.map((r) => decide(r, u.href) === null) };
  });
}`

// A urlCase is a policy, and an independent description of the sites that it may allow.
type urlCase struct {
	config Config
	sites  []string                              // origins, and "*." hosts; nil means allowed
	public func(host string, port int) (ok bool) // instead of sites
}

func (c *urlCase) allowed(protocol, host string, port int) bool {
	if protocol != "http:" && protocol != "https:" {
		return false
	}
	if c.public != nil {
		return c.public(host, port)
	}
	return slices.ContainsFunc(c.sites, func(s string) bool {
		if sub, ok := strings.CutPrefix(s, "https://*"); ok {
			return protocol == "https:" && port == 443 && strings.HasSuffix(host, sub) && host != sub[1:]
		}
		scheme, rest, _ := strings.Cut(s, "//")
		h, p, _ := strings.Cut(rest, " ")
		return (scheme == "" || scheme == protocol) && h == host && (p == "*" || p == strconv.Itoa(port))
	})
}

// urlCases are policies of each kind of pattern.
var urlCases = []urlCase{
	{
		config: Config{
			AllowDomains: []string{"example.com", "https://sub.example.com:8443", "*.wild.example", "http://plain.example.com", "127.0.0.1", "localhost:8080", "[::1]"},
			BlockDomains: []string{"example.com/private", "no.wild.example"}, Subresources: SubresourcesSame, OwnPorts: []int{38017},
		},
		sites: []string{"https://example.com 443", "https://sub.example.com 8443", "https://*.wild.example", "http://plain.example.com 80",
			"//127.0.0.1 *", "//localhost 8080", "//[::1] *"},
	},
	{
		config: Config{AllDomains: true, BlockDomains: []string{"evil.com"}, Subresources: SubresourcesSame},
		public: func(host string, _ int) bool {
			name := strings.TrimRight(host, ".")
			if name == "evil.com" || strings.HasSuffix(name, ".evil.com") || name == "localhost" || strings.HasSuffix(name, ".localhost") ||
				slices.Contains([]string{"metadata", "metadata.google.internal", "chromewebstore.google.com"}, name) {
				return false
			}
			addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
			return err != nil || addr.IsGlobalUnicast() && !addr.IsPrivate() && !addr.Is4In6() &&
				!netip.MustParsePrefix("100.64.0.0/10").Contains(addr) && !netip.MustParsePrefix("64:ff9b::/96").Contains(addr) &&
				!netip.MustParsePrefix("2002::/16").Contains(addr)
		},
	},
}

var allowedHosts = []string{"example.com", "sub.example.com:8443", "a.wild.example", "a.b.wild.example", "plain.example.com", "127.0.0.1", "127.0.0.1:8080", "localhost:8080", "[::1]", "[::1]:3000", "other.org"}

// TestLongURLsAgainstChromium checks that Chromium never uses another host, port or scheme for an
// allowed URL than the policy has checked: for URLs of callers, for URLs that the browser reports,
// for requests, and for the policy of the extension.
func TestLongURLsAgainstChromium(t *testing.T) {
	tier.Deep(t)
	const total, batch = 100_000, 5_000
	ctx := t.Context()
	g := newURLGrammar(testSeed(t), allowedHosts, slices.DeleteFunc(slices.Clone(traps), func(s string) bool { return len(s) > 1000 || s == "" }))

	mux := http.NewServeMux()
	files := http.FileServerFS(extension.Files())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".js") { // policy.js and its imports
			files.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>reader</title>")
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	s := openChromium(t, nil)
	_, tab, err := s.NewPage(ctx, &executor.NewPageOptions{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}

	var policies []*Policy
	var jsPolicies []map[string]any
	for _, c := range urlCases {
		p, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
		jsPolicies = append(jsPolicies, map[string]any{"allow": c.config.AllowDomains, "block": c.config.BlockDomains, "unsafeAll": c.config.AllDomains,
			"subresources": c.config.Subresources, "ownPorts": c.config.OwnPorts})
	}
	var parsed, calls, shown, network int
	seen := map[string]bool{}
	for len(seen) < total {
		var urls []string
		for len(urls) < batch {
			if u := g.next(); !seen[u] {
				seen[u] = true
				urls = append(urls, u)
			}
		}
		var parsedURLs []*parsedURL
		run(ctx, t, s, tab.ID, readURLs, map[string]any{"urls": urls, "policies": jsPolicies}, &parsedURLs)
		if len(parsedURLs) != len(urls) {
			t.Fatalf("Chromium read %d of %d URLs", len(parsedURLs), len(urls))
		}
		for i, raw := range urls {
			at := parsedURLs[i]
			if at != nil {
				parsed++
			}
			for j, p := range policies {
				oracle := &urlCases[j]
				if text, err := p.CheckURL(raw); err == nil && text != Blank {
					calls++
					checkCallerURL(t, raw, text, at, oracle)
				}
				if at == nil {
					continue
				}
				where, protocol := at, at.Protocol
				if protocol == "blob:" {
					if where = parseOriginText(at.Origin); where == nil {
						where = &parsedURL{}
					}
				}
				ok := oracle.allowed(where.Protocol, where.Hostname, where.port())
				blank := isBlankURL(at.Href) || at.Href == "about:srcdoc" || strings.HasPrefix(at.Href, errorPage)
				byGo := p.checkSerializedURL(at.Href) == nil
				if byGo && !ok && !blank {
					t.Errorf("policy %d: a document at %q, which was %q, is allowed", j, at.Href, raw)
				}
				if byGo {
					shown++
				}
				// The extension relies on the browser to validate punycode and blob: URLs.
				if at.Decisions[j] && !blank && (!ok || !byGo && protocol != "blob:" && !strings.Contains(at.Hostname, "xn--")) {
					t.Errorf("policy %d: the extension allows a document at %q, which was %q; the policy: %v", j, at.Href, raw, p.checkSerializedURL(at.Href))
				}
				if scheme := strings.TrimSuffix(protocol, ":"); scheme == "http" || scheme == "https" {
					if p.CheckHost(scheme, at.Hostname, at.port()) == nil {
						network++
						if !ok {
							t.Errorf("policy %d: a request to %q, which was %q, is allowed", j, at.Href, raw)
						}
					}
				}
			}
			if t.Failed() && len(seen) > batch {
				t.FailNow() // one batch of failures is enough to read
			}
		}
	}
	t.Logf("%d URLs: Chromium reads %d; allowed are %d of a caller, %d of documents, %d of requests", total, parsed, calls, shown, network)
	if parsed < total/3 || calls < total/20 || shown < total/10 || network < total/10 {
		t.Error("too few URLs were allowed")
	}
}

// checkCallerURL compares an allowed URL of a caller with the results of Chromium and of net/url,
// which downloads use.
func checkCallerURL(t *testing.T, raw, text string, at *parsedURL, oracle *urlCase) {
	t.Helper()
	u, err := ParseURL(raw)
	if err != nil {
		t.Errorf("%q is allowed, but ParseURL fails: %v", raw, err)
		return
	}
	if at == nil {
		t.Errorf("%q is allowed as %q, but Chromium rejects it", raw, text)
		return
	}
	scheme := strings.TrimSuffix(at.Protocol, ":")
	if u.site.scheme != scheme || u.Host() != at.Hostname || u.Port() != at.port() || u.Origin() != at.Origin || !oracle.allowed(at.Protocol, at.Hostname, at.port()) {
		t.Errorf("%q is allowed for %s, but Chromium uses %s", raw, u.Origin(), at.Origin)
	}
	if text != at.Href {
		t.Errorf("%q is sent as %q, which Chromium serializes as %q", raw, text, at.Href)
	}
	if std, err := url.Parse(text); err != nil || std.Scheme != scheme || "["+std.Hostname()+"]" != "["+strings.Trim(at.Hostname, "[]")+"]" || std.Port() != at.Port {
		t.Errorf("%q is sent as %q, but net/url returns %v, %v", raw, text, std, err)
	}
}

// parseOriginText parses an origin that Chromium serialized.
func parseOriginText(origin string) *parsedURL {
	protocol, rest, ok := strings.Cut(origin, "//")
	if !ok {
		return nil
	}
	p := &parsedURL{Protocol: protocol, Hostname: rest}
	if host, port, err := net.SplitHostPort(rest); err == nil {
		p.Hostname, p.Port = host, port
		if strings.Contains(host, ":") {
			p.Hostname = "[" + host + "]"
		}
	}
	return p
}

// TestLongURLsByNavigation checks in the browser that allowed URLs load from the allowed server,
// and that requests of a page for all other URLs never reach a denied server.
func TestLongURLsByNavigation(t *testing.T) {
	tier.Deep(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)

	var mu sync.Mutex
	var requested []string
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requested = append(requested, "http://"+r.Host+r.URL.RequestURI())
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>allowed</title>")
	}))
	t.Cleanup(allowed.Close)
	var hits atomic.Int32
	denied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(denied.Close)
	good, bad := strings.TrimPrefix(allowed.URL, "http://"), strings.TrimPrefix(denied.URL, "http://")
	_, goodPort, _ := net.SplitHostPort(good)
	badHost, badPort, _ := net.SplitHostPort(bad)

	// The traps with the two servers in place of their hosts.
	insertHosts := strings.NewReplacer("evil.com", bad, "example.com:443", good, "example.com", good)
	var list []string
	for _, s := range slices.Concat(traps, grammarUsers, grammarHosts, grammarPorts, grammarTails) {
		if s == "" || len(s) > 1000 {
			continue
		}
		list = append(list, insertHosts.Replace(s))
	}
	aliases := []string{"localhost", "LOCALHOST", "localhost.", "127.1", "0x7f000001", "017700000001", "2130706433", "127.0.0.1.", "[::ffff:127.0.0.1]",
		"a.localhost", "①②⑦.0.0.1", "127%2e0.0.1"}
	hosts := []string{good, good, good, "localhost:" + goodPort, bad}
	for _, h := range aliases {
		hosts = append(hosts, h+":"+badPort)
	}
	g := newURLGrammar(testSeed(t), hosts, list)
	config := Config{AllowDomains: []string{"http://" + good, "http://localhost:" + goodPort}, Subresources: SubresourcesSame, Eval: true}
	p, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	var calls, others []string
	const loads, byCall = 1500, 60
	for len(calls) < byCall || len(others) < loads {
		raw := insertHosts.Replace(g.next())
		if text, err := p.CheckURL(raw); err == nil && text != Blank {
			calls = append(calls, text)
		} else if err != nil {
			others = append(others, raw)
		}
	}

	s := openChromium(t, p)
	for _, text := range calls[:byCall] {
		if _, err := s.Navigate(ctx, text, nil); err != nil {
			t.Errorf("%q is allowed, but does not load: %v", text, err)
			continue
		}
		want, _, _ := strings.Cut(text, "#")
		mu.Lock()
		if !slices.Contains(requested, want) {
			t.Errorf("%q was not requested; the last request was %q", want, requested[len(requested)-1])
		}
		mu.Unlock()
	}
	// The policy denies these URLs for callers. A page can request them, so network enforcement
	// must deny them.
	for _, raw := range others[:200] {
		if _, err := p.CheckURL(raw); executor.CodeOf(err) != executor.ErrBadArgs && !errors.Is(err, executor.ErrPolicyDenied) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	const load = `async (urls) => {
  let settled = 0;
  const frame = document.body.appendChild(document.createElement('iframe'));
  for (let i = 0; i < urls.length; i += 100) {
    await Promise.all(urls.slice(i, i + 100).map(async (u) => {
      try { await fetch(u, { mode: 'no-cors', signal: AbortSignal.timeout(1000) }); } catch {}
      settled++;
    }));
  }
  for (const u of urls.slice(0, 100)) {
    const loaded = new Promise((done) => { frame.onload = done; setTimeout(done, 50); });
    try { frame.contentWindow.location.replace(u); } catch {}
    await loaded;
  }
  return settled;
}`
	home := allowed.URL + "/"
	if _, err := s.Navigate(ctx, home, nil); err != nil {
		t.Fatal(err)
	}
	var settled int
	run(ctx, t, s, "", load, others[:loads], &settled)
	if settled != loads {
		t.Errorf("%d of %d URLs were requested", settled, loads)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("the denied server at %s:%s received %d requests", badHost, badPort, n)
	}
	// The positive control: without enforcement the requests arrive.
	open := openChromium(t, nil)
	if _, err := open.Navigate(ctx, home, nil); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, open, "", load, others[:loads/3], &settled)
	n := hits.Load()
	t.Logf("%d requests of %d URLs reach the denied server without enforcement", n, loads/3)
	if n < 30 {
		t.Error("too few requests for a positive control")
	}
}
