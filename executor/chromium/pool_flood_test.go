package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/testlog"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

func TestMostActive(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after map[string]int64
		want          string
	}{
		{"no navigation", map[string]int64{"a": 900, "b": 1}, map[string]int64{"a": 900, "b": 1}, ""},
		{"most", map[string]int64{"a": 900, "b": 1}, map[string]int64{"a": 902, "b": 9}, "b"},
		{"half", map[string]int64{"a": 0, "b": 0}, map[string]int64{"a": 5, "b": 5}, ""},
		{"most of three", nil, map[string]int64{"a": 2, "b": 5, "c": 2}, "b"},
		{"few", map[string]int64{"a": 7}, map[string]int64{"a": 8}, ""},
		{"closed tabs", map[string]int64{"a": 50, "b": 0}, map[string]int64{"a": 10, "b": 2}, "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mostActive(tt.before, tt.after, 2); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestPoolEvicts closes a browser context as that of a page that keeps the browser from responding,
// and checks the calls, the audit log and the other Backend.
func TestPoolEvicts(t *testing.T) {
	tier.Browser(t)
	site := newPoolSite(t)
	p, dir := newPool(t)
	record := new(testlog.Recorder)
	o := testOptions(t)
	o.DataDir, o.Isolated, o.Pool, o.Network, o.Audit = dir, true, p, hosts{"127.0.0.1"}, record
	one, two := newBrowser(t, o), inPool(t, p, dir, "localhost")
	a, b := newSession(t, one), newSession(t, two)
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	mustNavigate(t, b, site.on("localhost", "/"))
	in := running(one)
	counts := in.pooled.navigations()
	if counts[in] == 0 || counts[running(two)] == 0 {
		t.Errorf("navigations: %v", counts)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := pagetest.Of(a, "").Eval(await.Context(t), "new Promise(() => {})", nil)
		waiting <- err
	}()
	await.Until(t, "the call to start", func() bool { return len(in.Tabs()) == 1 && in.Tabs()[0].Page.Queue.Busy() })
	in.pooled.evict(in)
	err := await.Receive(t, "the call to return", waiting)
	wantCode(t, err, executor.ErrTargetGone)
	if !strings.Contains(err.Error(), "did not respond") {
		t.Errorf("the call returned %v", err)
	}
	await.Until(t, "the audit log", func() bool {
		return slices.ContainsFunc(record.Entries(), func(e audit.Entry) bool {
			return e.Event == audit.EventDisconnected && strings.Contains(e.Detail, "did not respond")
		})
	})
	if got := eval(t, b, "document.title"); got != `"localhost"` {
		t.Errorf("the other Backend: %s", got)
	}
	mustNavigate(t, a, site.on("127.0.0.1", "/"))
	if running(one).proc.PID != running(two).proc.PID {
		t.Error("the Backend continues in another process")
	}
}

// TestPoolFlood opens a page with many frames that reload all the time, one with many frames that do
// not, and an application of 20 MB. Another principal is not affected, and the other pages stay open.
func TestPoolFlood(t *testing.T) {
	tier.Deep(t)
	frames := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/flood":
			fmt.Fprint(w, `<body><script>for (let i = 0; i < 60; i++) {
				const f = document.body.appendChild(document.createElement("iframe"));
				setInterval(() => { f.src = "/e?" + Math.random(); }, 30);
			}</script>`)
		case "/many":
			fmt.Fprint(w, "<title>many</title>"+strings.Repeat("<iframe src=/e></iframe>", 200))
		case "/application":
			fmt.Fprint(w, "<title>loading</title><script src=/application.js></script>")
		case "/application.js":
			w.Header().Set("Content-Type", "text/javascript")
			for i := range 200 { // functions of 100 kB each
				fmt.Fprintf(w, "function f%d() { return %q }\n", i, strings.Repeat("x", 100_000))
			}
			fmt.Fprint(w, "document.title = 'application'")
		}
	}))
	defer frames.Close()
	p, dir := newPool(t)
	open := func(principal string) executor.Executor {
		o := testOptions(t)
		o.DataDir, o.Isolated, o.Pool, o.Network, o.Principal = dir, true, p, hosts{"127.0.0.1"}, principal
		return newSession(t, newBrowser(t, o))
	}
	flooding, many, application, other := open("b"), open("b"), open("b"), open("a")
	mustNavigate(t, many, frames.URL+"/many")
	mustNavigate(t, application, frames.URL+"/application")
	mustNavigate(t, other, frames.URL+"/many")
	_, _ = flooding.Navigate(await.Context(t), frames.URL+"/flood", nil)
	for range 20 {
		if got := eval(t, other, "document.title"); got != `"many"` {
			t.Errorf("the page of another principal: %s", got)
		}
	}
	for title, s := range map[string]executor.Executor{"many": many, "application": application} {
		await.Until(t, "the page "+title+" of another session of the principal", func() bool {
			res, err := pagetest.Of(s, "").Eval(await.Context(t), "document.title", nil)
			if err != nil && executor.CodeOf(err) != executor.ErrTimeout {
				t.Fatalf("the page %s of another session of the principal: %v", title, err)
			}
			return err == nil && res.OK && string(res.Value) == strconv.Quote(title)
		})
	}
}
