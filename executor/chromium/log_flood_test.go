package chromium

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestLogFlood opens a page that logs in a loop. Its scripts are throttled until it stops.
func TestLogFlood(t *testing.T) {
	tier.Deep(t) // it compares speeds
	var stop atomic.Bool
	var speed atomic.Value // of the scripts of the page, relative to that before the flood
	speed.Store(1.0)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/speed":
			if n, err := strconv.ParseFloat(r.URL.Query().Get("n"), 64); err == nil {
				speed.Store(n)
			}
			fmt.Fprint(w, stop.Load())
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>flood</title><script>
				function spin() {
					let n = 0;
					for (const end = performance.now() + 200; performance.now() < end; ) n++;
					return n;
				}
				const text = "x".repeat(5000);
				spin(); // is compiled
				const before = spin();
				async function flood() {
					for (let stop = "false"; ; stop = await (await fetch("/speed?n=" + spin() / before)).text()) {
						for (const end = performance.now() + 200; stop == "false" && performance.now() < end; ) console.log(text);
					}
				}
				setTimeout(flood);
			</script>`)
		}
	}))
	t.Cleanup(site.Close)
	b := newBrowser(t, testOptions(t))
	mustNavigate(t, newSession(t, b), site.URL)
	await.Until(t, "the page to be slowed down", func() bool { return speed.Load().(float64) < 0.1 })
	stop.Store(true)
	await.Until(t, "the page to be as fast as before", func() bool { return speed.Load().(float64) > 0.5 })
}

// TestLogFloodOfOtherSession checks that calls of a session return while a page of another session in
// the same browser logs in a loop.
func TestLogFloodOfOtherSession(t *testing.T) {
	var stop atomic.Bool
	var rounds atomic.Int64 // of the loop
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/round":
			rounds.Add(1)
			fmt.Fprint(w, stop.Load())
		case "/flood":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>flood</title><script>
				const text = "x".repeat(5000);
				async function flood() {
					while (await (await fetch("/round")).text() === "false") {
						for (const end = performance.now() + 200; performance.now() < end; ) console.log(text);
					}
				}
				setTimeout(flood);
			</script>`)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
		}
	}))
	t.Cleanup(site.Close)
	defer stop.Store(true)
	b := newBrowser(t, testOptions(t))
	flooding, other := newSession(t, b), newSession(t, b)
	url := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	mustNavigate(t, other, url+"/first")
	mustNavigate(t, flooding, site.URL+"/flood")
	next := func() {
		t.Helper()
		before := rounds.Load()
		await.Until(t, "the page to log again", func() bool { return rounds.Load() > before })
	}
	next()
	ctx := await.Context(t) // for all calls
	for i := range 10 {
		path := fmt.Sprintf("/page%d", i)
		if _, err := other.Navigate(ctx, url+path, nil); err != nil {
			t.Fatal(err)
		}
		res, err := pagetest.Of(other, "").Eval(ctx, "document.title", nil)
		if err != nil || string(res.Value) != strconv.Quote(path) {
			t.Fatalf("title %s, %v", res.Value, err)
		}
	}
	next() // the loop lasts
}
