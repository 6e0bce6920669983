package chromium

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/fetch"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
)

// A guardedSite is a server that asks for the user name and the password of the host that a request
// names: below /basic/REALM/ with the scheme Basic, and so on.
type guardedSite struct {
	*httptest.Server

	mu       sync.Mutex
	accepted map[string]HTTPCredentials // by host
	sent     map[string][]string        // the Authorization headers that arrived, by host
}

func newGuardedSite(t *testing.T) *guardedSite {
	s := &guardedSite{accepted: map[string]HTTPCredentials{}, sent: map[string][]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// accept makes a host of the site accept credentials, and returns its origin.
func (s *guardedSite) accept(host string, c HTTPCredentials) (origin string) {
	host += s.URL[strings.LastIndexByte(s.URL, ':'):]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[host] = c
	return "http://" + host
}

func (s *guardedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get("Authorization")
	s.mu.Lock()
	want := s.accepted[r.Host]
	if header != "" {
		s.sent[r.Host] = append(s.sent[r.Host], header)
	}
	s.mu.Unlock()
	if to := r.FormValue("redirect"); to != "" {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	if r.URL.Path == "/worker.js" { // of a service worker or a shared worker
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `const load = (e, port) => fetch(e.data).then((r) => port.postMessage(r.status), (x) => port.postMessage(String(x)));
			self.onmessage = (e) => load(e, e.source);
			self.onconnect = (c) => { c.ports[0].onmessage = (e) => load(e, c.ports[0]); };`)
		return
	}
	part := strings.Split(r.URL.Path, "/")
	if len(part) < 4 {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>open</title><link rel=icon href=data:,><button onclick="this.textContent = 'clicked'">Press</button>`)
		return
	}
	scheme, realm := part[1], part[2]
	ok, challenge := false, fmt.Sprintf("Basic realm=%q", realm)
	switch scheme {
	case "basic":
		ok = header == "Basic "+base64.StdEncoding.EncodeToString([]byte(want.Username+":"+want.Password))
	case "digest":
		challenge = fmt.Sprintf(`Digest realm=%q, nonce="once"`, realm)
		sum := func(text string) string { return fmt.Sprintf("%x", md5.Sum([]byte(text))) }
		response := sum(sum(want.Username+":"+realm+":"+want.Password) + ":once:" + sum(r.Method+":"+r.URL.Path))
		ok = strings.Contains(header, fmt.Sprintf("response=%q", response))
	case "ntlm":
		challenge = "NTLM"
	}
	if !ok {
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, "a password is needed", http.StatusUnauthorized)
		return
	}
	if part[3] == "image.svg" {
		w.Header().Set("Content-Type", "image/svg+xml")
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`)
		return
	}
	w.Header().Set("Content-Type", map[bool]string{true: "text/javascript", false: "text/html"}[strings.HasSuffix(part[3], ".js")])
	fmt.Fprintf(w, "/*<title>%s</title><p>welcome*/ self.postMessage?.('loaded')", part[3])
}

// headers returns the Authorization headers that a host got.
func (s *guardedSite) headers(origin string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent[strings.TrimPrefix(origin, "http://")])
}

// loopback resolves every name to this machine.
type loopback struct{}

func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// TestHTTPCredentials checks that pages of a launched browser get the credentials of exactly the
// origin that asks for them, that other origins get none, and that nothing shows them.
func TestHTTPCredentials(t *testing.T) {
	site, other := newGuardedSite(t), newGuardedSite(t)
	ada, bob := HTTPCredentials{"ada", "first-Pa55word"}, HTTPCredentials{"bob", "second-Pa55word"}
	one, two := site.accept("127.0.0.1", ada), site.accept("localhost", bob)
	wrong := other.accept("localhost", HTTPCredentials{"ada", "changed"})
	unknown := []string{other.accept("127.0.0.1", ada), site.accept("sub.localhost", ada)} // another port, a subdomain

	var log testlog.Buffer
	o := testOptions(t)
	o.Isolated, o.Network, o.resolver = true, anyHost{}, loopback{}
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.HTTPCredentials = map[string]HTTPCredentials{one: ada, two: bob, wrong: {"ada", "mistyped-Pa55word"}}
	b := newBrowser(t, o)
	session, err := b.NewSession(&executor.SessionOptions{Gate: executor.AllowAll, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	status := func(url string) int {
		t.Helper()
		return mustNavigate(t, session, url).HTTPStatus
	}

	for _, url := range []string{one + "/basic/document/x", two + "/digest/document/x", two + "/basic/document/x", one + "/?redirect=" + two + "/basic/redirect/x"} {
		if got := status(url); got != http.StatusOK {
			t.Errorf("%s: status %d", url, got)
		}
	}
	for _, url := range []string{
		one + "/ntlm/document/x", wrong + "/basic/document/x", unknown[0] + "/basic/document/x", unknown[1] + "/basic/document/x",
		one + "/?redirect=" + unknown[0] + "/basic/redirect/x", one + "/?redirect=" + unknown[1] + "/basic/redirect/x",
	} {
		if got := status(url); got != http.StatusUnauthorized {
			t.Errorf("%s: status %d", url, got)
		}
	}

	mustNavigate(t, session, one+"/")
	loads := map[string]string{
		"fetch":                  "fetch('%s/basic/fetch/x').then((r) => r.status)",
		"request":                "new Promise((done) => { const x = new XMLHttpRequest(); x.open('GET', '%s/digest/request/x'); x.onloadend = () => done(x.status); x.send(); })",
		"image":                  "new Promise((done) => { const i = new Image(); i.onload = () => done(200); i.onerror = () => done(401); i.src = '%s/basic/image/image.svg'; })",
		"worker":                 "new Promise((done) => { const w = new Worker('%s/basic/worker/x.js'); w.onmessage = () => done(200); w.onerror = () => done(401); })",
		"worker's fetch":         "new Promise((done) => { const w = new Worker(URL.createObjectURL(new Blob([`fetch('%s/basic/within/x').then((r) => postMessage(r.status))`]))); w.onmessage = (e) => done(e.data); })",
		"shared worker's fetch":  "new Promise((done) => { const w = new SharedWorker('/worker.js'); w.port.onmessage = (e) => done(e.data); w.port.postMessage('%s/basic/shared/x'); })",
		"service worker's fetch": "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then((r) => new Promise((done) => { navigator.serviceWorker.onmessage = (e) => done(e.data); r.active.postMessage('%s/basic/service/x'); }))",
		"socket":                 "new Promise((done) => { const w = new WebSocket('%s/basic/socket/x'.replace('http', 'ws')); w.onopen = w.onerror = () => done(200); })",
		"beacon":                 "(navigator.sendBeacon('%s/basic/beacon/x'), 200)",
		"events":                 "new Promise((done) => { const s = new EventSource('%s/basic/events/x'); s.onopen = s.onerror = () => { s.close(); done(200); }; })",
		"frame":                  "new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(f.contentDocument.title === 'x' ? 200 : 401); f.src = '%s/basic/frame/x'; document.body.append(f); })",
	}
	for _, name := range slices.Sorted(maps.Keys(loads)) {
		if got := eval(t, session, strings.ReplaceAll(loads[name], "%s", one)); got != "200" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, origin := range append(unknown, wrong) {
		if got := eval(t, session, strings.ReplaceAll(loads["image"], "%s", origin)); got != "401" {
			t.Errorf("image of %s: %s", origin, got)
		}
		mustNavigate(t, session, origin+"/")
		if got := eval(t, session, strings.ReplaceAll(loads["fetch"], "%s", origin)); got != "401" {
			t.Errorf("fetch by a page of %s: %s", origin, got)
		}
	}

	// Additional headers pause the same requests on the CDP session of the tab.
	mustNavigate(t, session, one+"/")
	tab := pagetest.Of(session, "")
	headers := map[string]map[string]string{one: {"X-Extra": "1"}}
	if _, err := tab.Emulate(await.Context(t), &executor.EmulateOptions{Headers: headers}); err != nil {
		t.Fatal(err)
	}
	if got := status(one + "/basic/headers/x"); got != http.StatusOK {
		t.Errorf("with additional headers: status %d", got)
	}
	mustNavigate(t, session, one+"/")
	if got := eval(t, session, strings.ReplaceAll(loads["fetch"], "%s/basic/fetch", one+"/basic/headers2")); got != "200" {
		t.Errorf("fetch with additional headers: %s", got)
	}
	if got := eval(t, session, strings.ReplaceAll(loads["image"], "%s", unknown[0])); got != "401" {
		t.Errorf("image with additional headers: %s", got)
	}
	if _, err := tab.Click(await.Context(t), executor.Selector("button"), nil); err != nil {
		t.Error(err)
	}

	file, err := tab.Download(await.Context(t), &executor.DownloadOptions{URL: one + "/?redirect=" + two + "/basic/download/x"})
	if err != nil {
		t.Error(err)
	} else if text, err := os.ReadFile(file.Path); err != nil || !strings.Contains(string(text), "welcome") {
		t.Errorf("downloaded %s, %v", text, err)
	}
	_, err = tab.Download(await.Context(t), &executor.DownloadOptions{URL: one + "/?redirect=" + unknown[0] + "/basic/download/x"})
	wantCode(t, err, executor.ErrDownloadFailed)

	for origin, c := range o.HTTPCredentials {
		for _, h := range append(site.headers(origin), other.headers(origin)...) {
			basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
			if h != basic && !strings.HasPrefix(h, fmt.Sprintf("Digest username=%q", c.Username)) {
				t.Errorf("%s got %s", origin, h)
			}
		}
	}
	for _, origin := range unknown {
		if got := append(site.headers(origin), other.headers(origin)...); len(got) > 0 {
			t.Errorf("%s got %q", origin, got)
		}
	}
	requests, err := tab.Requests(await.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(shown), log.String(), fmt.Sprintf("%v %+v %#v", o, o, o)} {
		for _, part := range []string{"Pa55word", base64.StdEncoding.EncodeToString([]byte("ada:first")), base64.StdEncoding.EncodeToString([]byte("bob:second"))[:12]} {
			if strings.Contains(text, part) {
				t.Errorf("%q is shown in %s", part, text)
			}
		}
	}
	if !strings.Contains(log.String(), "HTTP credentials rejected") {
		t.Error("the rejected credentials are not logged")
	}
}

// TestAnswerChallenge checks which challenges are answered with credentials.
func TestAnswerChallenge(t *testing.T) {
	const origin = "https://shop.example:8443"
	o := Options{HTTPCredentials: map[string]HTTPCredentials{origin: {"ada", "word"}, "https://other.example": {"bob", "other"}}}
	for _, c := range []struct {
		name, origin, scheme string
		source               fetch.AuthChallengeSource
		want                 fetch.AuthChallengeResponseResponse
	}{
		{"basic", origin, "basic", fetch.AuthChallengeSourceServer, fetch.AuthChallengeResponseResponseProvideCredentials},
		{"digest", origin, "Digest", fetch.AuthChallengeSourceServer, fetch.AuthChallengeResponseResponseProvideCredentials},
		{"NTLM", origin, "ntlm", fetch.AuthChallengeSourceServer, fetch.AuthChallengeResponseResponseCancelAuth},
		{"Negotiate", origin, "negotiate", fetch.AuthChallengeSourceServer, fetch.AuthChallengeResponseResponseCancelAuth},
		{"another port", "https://shop.example", "basic", fetch.AuthChallengeSourceServer, fetch.AuthChallengeResponseResponseCancelAuth},
		{"another scheme", "http://shop.example:8443", "basic", fetch.AuthChallengeSourceServer, fetch.AuthChallengeResponseResponseCancelAuth},
		{"subdomain", "https://www.shop.example:8443", "basic", fetch.AuthChallengeSourceServer, fetch.AuthChallengeResponseResponseCancelAuth},
		{"proxy at the origin", origin, "basic", fetch.AuthChallengeSourceProxy, fetch.AuthChallengeResponseResponseDefault},
		{"unknown source", origin, "basic", "", fetch.AuthChallengeResponseResponseDefault},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &instance{opts: o, backend: &Backend{log: slog.New(slog.DiscardHandler)}}
			in.documents = &documentFilter{in: in}
			e := fetch.EventAuthRequired{RequestID: "1", AuthChallenge: &fetch.AuthChallenge{Source: c.source, Origin: c.origin, Scheme: c.scheme}}
			got := in.documents.answerChallenge(e)
			provided := got.Response == fetch.AuthChallengeResponseResponseProvideCredentials
			if got.Response != c.want || provided != (got.Password == "word") || provided != (got.Username == "ada") {
				t.Errorf("answer %+v", got)
			}
			if again := in.documents.answerChallenge(e); provided && again.Response != fetch.AuthChallengeResponseResponseCancelAuth {
				t.Errorf("second answer %+v", again)
			}
		})
	}
}

func TestExactFilter(t *testing.T) {
	for origin, want := range map[string]string{
		"https://shop.example":  "https://.shop.example:443",
		"http://localhost":      "http://.localhost:80",
		"http://localhost:3000": "http://.localhost:3000",
		"http://127.0.0.1:3000": "http://127.0.0.1:3000",
		"https://[::1]":         "https://[::1]:443",
	} {
		if got := exactFilter(origin); got != want {
			t.Errorf("filter of %s: %s, want %s", origin, got, want)
		}
	}
}

func TestHTTPCredentialsOptions(t *testing.T) {
	valid := Options{Isolated: true, Network: anyHost{}, DataDir: t.TempDir(), HTTPCredentials: map[string]HTTPCredentials{"https://shop.example": {"ada", "word"}}}
	if _, err := New(&valid); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"no network policy": func(o *Options) { o.Network = nil },
		"pool":              func(o *Options) { o.Pool = &Pool{} },
		"endpoint":          func(o *Options) { o.CDPEndpoint = "http://127.0.0.1:9222" },
		"CDP clients":       func(o *Options) { o.CDPClients = true },
	} {
		o := valid
		change(&o)
		_, err := New(&o)
		if !errors.Is(err, executor.ErrBadArgs) || strings.Contains(err.Error(), "word") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
