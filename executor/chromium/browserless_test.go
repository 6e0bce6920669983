package chromium

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/browserless"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const browserlessToken = "sesame-SECRET"

// startBrowserless starts a replica for one browser, without a queue.
func startBrowserless(t *testing.T) *browserless.Server {
	t.Helper()
	return browserless.Start(t, browserless.Options{Browser: findBrowser(t), Token: browserlessToken, Concurrent: 1})
}

// browserlessOptions are options for a browser on replicas.
func browserlessOptions(t *testing.T, urls ...string) Options {
	o := fullOptions(t)
	o.Browserless = &Browserless{URLs: urls, Token: func() (string, error) { return browserlessToken, nil }}
	if o.NoSandbox {
		o.Browserless.Launch = map[string]any{"args": []any{"--no-sandbox"}}
	}
	return o
}

// TestBrowserless fills two replicas of browserless, kills one while a session uses it, and frees
// the place on the other.
func TestBrowserless(t *testing.T) {
	a, b := startBrowserless(t), startBrowserless(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*await.HangLimit)
	t.Cleanup(cancel)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>page</title>")
	}))
	t.Cleanup(site.Close)
	var log bytes.Buffer
	open := func() (*Backend, executor.Executor) {
		o := browserlessOptions(t, a.URL, b.URL)
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		backend := newBrowser(t, o)
		return backend, newSession(t, backend)
	}
	load := func(ex executor.Executor) error {
		_, tab, err := ex.NewPage(ctx, &executor.NewPageOptions{URL: site.URL})
		if err == nil && tab.Title != "page" {
			err = fmt.Errorf("title %q", tab.Title)
		}
		return err
	}
	replica := func(backend *Backend) *browserless.Server {
		t.Helper()
		switch detail := backend.Status(ctx).Detail; {
		case strings.Contains(detail, strings.TrimSuffix(a.URL, "/chromium")):
			return a
		case strings.Contains(detail, strings.TrimSuffix(b.URL, "/chromium")):
			return b
		default:
			t.Fatalf("status %q names no replica", detail)
			return nil
		}
	}

	first, one := open()
	if err := load(one); err != nil {
		t.Fatalf("%v\n%s\n%s", err, a.Log(), b.Log())
	}
	second, two := open()
	if err := load(two); err != nil {
		t.Fatal(err)
	}
	if replica(first) == replica(second) {
		t.Fatal("two sessions have the only place of one replica")
	}

	full, three := open()
	err := load(three)
	e, ok := errors.AsType[*executor.Error](err)
	if !ok || e.Code != executor.ErrBackpressure || !e.Retryable || strings.Count(err.Error(), "its queue is full (HTTP 429)") != 2 {
		t.Errorf("third session: %v, want BACKPRESSURE with 429 of both replicas", err)
	}
	if detail := full.Status(ctx).Detail; strings.Contains(detail, "SECRET") {
		t.Errorf("status %q contains the token", detail)
	}

	// The browsers of the replica end with it.
	dead := replica(first)
	dead.Kill()
	if err := two.Ping(ctx); err != nil {
		t.Errorf("the other replica: %v", err)
	}
	if err := second.Close(); err != nil { // frees its place
		t.Error(err)
	}
	await.Until(t, "the first session to move to the other replica", func() bool { return load(one) == nil })
	if replica(first) == dead {
		t.Error("session is on the replica that was killed")
	}

	wrong := browserlessOptions(t, dead.URL, replica(first).URL)
	wrong.Browserless.Token = func() (string, error) { return "wrong-SECRET", nil }
	err = load(newSession(t, newBrowser(t, wrong)))
	if executor.CodeOf(err) != executor.ErrLaunchFailed || !strings.Contains(err.Error(), "rejected the token") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("wrong token: %v", err)
	}

	replica(first).Kill()
	await.Until(t, "NO_BACKEND without replicas", func() bool { return executor.CodeOf(load(one)) == executor.ErrNoBackend })
	if strings.Contains(log.String(), "SECRET") {
		t.Errorf("log contains the token:\n%s", log.String())
	}
}

// TestBrowserlessUnreachable stops a replica while a session uses it. The session moves to the other one.
func TestBrowserlessUnreachable(t *testing.T) {
	a, b := startBrowserless(t), startBrowserless(t)
	// The pings and a handshake with the stopped replica reach their hang limits.
	ctx, cancel := context.WithTimeout(t.Context(), 6*await.HangLimit)
	t.Cleanup(cancel)
	backend := newBrowser(t, browserlessOptions(t, a.URL, b.URL))
	session := newSession(t, backend)
	usesA := func() bool {
		return strings.Contains(backend.Status(ctx).Detail, strings.TrimSuffix(a.URL, "/chromium"))
	}
	load := func() error {
		_, _, err := session.NewPage(ctx, &executor.NewPageOptions{URL: "about:blank"})
		return err
	}
	if err := load(); err != nil {
		t.Fatal(err)
	}
	stoppedA := usesA()
	if stoppedA {
		a.Stop(t)
	} else {
		b.Stop(t)
	}
	err := load()
	for err != nil && ctx.Err() == nil {
		err = load()
	}
	if err != nil {
		t.Errorf("the session stays on the replica that was stopped: %v", err)
	} else if usesA() == stoppedA {
		t.Error("session is on the replica that was stopped")
	}
}

// TestBrowserlessDial checks the errors of servers that are not browserless, or that do not launch a
// browser.
func TestBrowserlessDial(t *testing.T) {
	answer := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+browserlessToken || strings.Contains(r.URL.RawQuery, "SECRET") {
				status = http.StatusTeapot
			}
			if status == http.StatusFound {
				w.Header().Set("Location", "http://192.0.2.1/")
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/chromium?timeout=-1"
	}
	queue := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done() // no browser ends, so the handshake is not answered
	}))
	t.Cleanup(queue.Close)
	const unused = "http://127.0.0.1:1/"
	for name, tt := range map[string]struct {
		urls []string
		code executor.Code
		text string
	}{
		"unauthorized":         {[]string{answer(401)}, executor.ErrLaunchFailed, "rejected the token (HTTP 401)"},
		"no path":              {[]string{answer(404)}, executor.ErrLaunchFailed, "no such path"},
		"bad launch options":   {[]string{answer(400)}, executor.ErrLaunchFailed, "rejected the request (HTTP 400)"},
		"full":                 {[]string{answer(429), unused}, executor.ErrBackpressure, "connection refused"},
		"no replica":           {[]string{unused, unused}, executor.ErrNoBackend, "launched no browser: ws://127.0.0.1:1: "},
		"time out":             {[]string{answer(408), unused}, executor.ErrNoBackend, "HTTP 408"},
		"internal error":       {[]string{answer(500), answer(503)}, executor.ErrNoBackend, "HTTP 500"},
		"redirect":             {[]string{answer(302)}, executor.ErrNoBackend, "HTTP 302"},
		"no WebSocket":         {[]string{answer(200)}, executor.ErrNoBackend, "HTTP 200"},
		"one replica is wrong": {[]string{unused, answer(401)}, executor.ErrLaunchFailed, "rejected the token"},
		"in the queue":         {[]string{queue.URL, unused}, executor.ErrBackpressure, "no answer to the handshake; its queue is probably full"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := timing.Current()
			if tt.urls[0] == queue.URL {
				limits.Dial, limits.Connect = 100*time.Millisecond, 50*time.Millisecond
			}
			_, _, _, err := browserlessOptions(t, tt.urls...).Browserless.dial(t.Context(), nil, limits)
			if executor.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) || strings.Contains(fmt.Sprintf("%+v", err), "SECRET") {
				t.Errorf("error %v, want %s with %s", err, tt.code, tt.text)
			}
		})
	}
	stop := errors.New("stop")
	o := browserlessOptions(t, unused)
	o.Browserless.Token = func() (string, error) { return "", stop }
	if _, _, _, err := o.Browserless.dial(t.Context(), nil, timing.Current()); !errors.Is(err, stop) {
		t.Errorf("no token: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := browserlessOptions(t, unused).Browserless.dial(canceled, nil, timing.Current()); executor.CodeOf(err) != executor.ErrTimeout {
		t.Errorf("canceled: %v", err)
	}
}

func TestBrowserlessCheck(t *testing.T) {
	args := func(args ...any) map[string]any { return map[string]any{"args": args} }
	for text, b := range map[string]Browserless{
		"no address":                         {},
		"not a URL with a host":              {URLs: []string{"localhost:3000"}},
		`unsupported scheme "ftp"`:           {URLs: []string{"ftp://SECRET/"}},
		"contains credentials":               {URLs: []string{"ws://a/?token=SECRET"}},
		"credentials":                        {URLs: []string{"ws://SECRET@a/"}},
		"contains launch options":            {URLs: []string{"ws://a/?launch=%7B%7D"}},
		`not "--lang"`:                       {URLs: []string{"ws://a/?--lang=de"}},
		`"acceptInsecureCerts"`:              {URLs: []string{"ws://a"}, Launch: map[string]any{"acceptInsecureCerts": true}},
		"--proxy-server affects the network": {URLs: []string{"ws://a"}, Launch: args("--proxy-server=b")},
		`"a" is not a switch`:                {URLs: []string{"ws://a"}, Launch: args("a")},
		"set by the launch itself":           {URLs: []string{"ws://a"}, Launch: args("--remote-debugging-port=1")},
		"a list of strings":                  {URLs: []string{"ws://a"}, Launch: args(1)},
		"must be a list":                     {URLs: []string{"ws://a"}, Launch: map[string]any{"args": "--a"}},
	} {
		if err := b.Check(); executor.CodeOf(err) != executor.ErrBadArgs || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("error %v, want %s", err, text)
		}
	}
	b := Browserless{URLs: []string{"https://a/chromium?timeout=1"}, Launch: map[string]any{"stealth": true, "args": []any{"--lang=de"}}}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
	if got, err := b.launchOptions([]string{"--x"}); got != `{"args":["--x","--lang=de"],"stealth":true}` || err != nil {
		t.Errorf("launch options %s, %v", got, err)
	}
	o := Options{Browserless: &b, CDPEndpoint: "http://a"}
	if _, err := New(&o); executor.CodeOf(err) != executor.ErrBadArgs {
		t.Errorf("with an endpoint: %v", err)
	}
}
