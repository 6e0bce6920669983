package chromium

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/pagetest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// benchElements is the number of elements that can be acted on in the page of the snapshot
// benchmark.
const benchElements = 3000

//go:embed testdata/bench/outline.js
var rawOutline string

// compare runs raw and ours alternately, so that both see the same load. It reports the median of
// ours, and its ratio to the median of raw. after, if not nil, cleans up after each run and is not
// measured.
func compare(b *testing.B, raw, ours func() error, after func()) {
	b.Helper()
	timed := func(f func() error) time.Duration {
		start := time.Now()
		err := f()
		took := time.Since(start)
		if after != nil {
			after()
		}
		if err != nil {
			b.Fatal(err)
		}
		return took
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2])
	}
	var rawTimes, ourTimes []time.Duration
	for b.Loop() {
		rawTimes = append(rawTimes, timed(raw))
		ourTimes = append(ourTimes, timed(ours))
	}
	b.ReportMetric(median(ourTimes), "ns/op")
	b.ReportMetric(median(rawTimes), "raw-ns/op")
	b.ReportMetric(median(ourTimes)/median(rawTimes), "x_raw")
}

// benchOptions returns the options of a browser with a temporary profile.
func benchOptions(b *testing.B) Options {
	headless := true
	return Options{
		Browser:   tier.FullBrowser(),
		Headless:  &headless,
		Isolated:  true,
		NoSandbox: os.Getuid() == 0,
		DataDir:   b.TempDir(),
	}
}

// benchPages serves /app, a page of benchElements, and /form, a small one that
// counts the clicks on its button.
func benchPages(b *testing.B) string {
	var app strings.Builder
	app.WriteString(`<!doctype html><title>App</title><style>.c{display:inline-block;padding:2px}</style><h1>Application</h1>`)
	for i := range benchElements {
		if i%100 == 0 {
			fmt.Fprintf(&app, "<h2>Panel %d</h2>", i/100)
		}
		switch i % 5 {
		case 0, 1:
			fmt.Fprintf(&app, `<div class="c"><div><button>Action %d</button></div></div>`, i)
		case 2:
			fmt.Fprintf(&app, `<div class="c"><span><a href="/item/%d">Action %d</a></span></div>`, i, i)
		case 3:
			fmt.Fprintf(&app, `<div class="c"><div><input aria-label="Action %d" size="8"></div></div>`, i)
		case 4:
			fmt.Fprintf(&app, `<div class="c"><label><input type="checkbox">Action %d</label></div>`, i)
		}
	}
	const form = `<!doctype html><title>Form</title><button id="count">Count</button><script>
var clicks = 0;
document.getElementById('count').onclick = (e) => { if (e.isTrusted) clicks++ };
</script>`
	mux := http.NewServeMux()
	for path, page := range map[string]string{"/app": app.String(), "/form": form} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, page)
		})
	}
	s := httptest.NewServer(mux)
	b.Cleanup(s.Close)
	return s.URL
}

// evaluateRaw evaluates an expression with one CDP command.
func evaluateRaw[T any](ctx context.Context, s *cdpconn.Session, expression string) (T, error) {
	var answer struct {
		Result struct {
			Value T `json:"value"`
		} `json:"result"`
		Exception any `json:"exceptionDetails"`
	}
	err := s.Call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	if err == nil && answer.Exception != nil {
		err = fmt.Errorf("%s threw %v", expression, answer.Exception)
	}
	return answer.Result.Value, err
}

// BenchmarkExecutor measures calls on an open tab of one browser, and compares them with the
// minimal sequence of CDP commands over the same connection.
func BenchmarkExecutor(b *testing.B) {
	ctx := b.Context()
	pages := benchPages(b)
	browser := mustNew(b, benchOptions(b))
	b.Cleanup(func() {
		if err := browser.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	session, err := browser.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
	if err != nil {
		b.Fatal(err)
	}
	open := func(b *testing.B, path string) (executor.TabID, *cdpconn.Session) {
		_, tab, err := session.NewPage(ctx, &executor.NewPageOptions{URL: pages + path})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if _, err := pagetest.Of(session, tab.ID).Close(context.Background()); err != nil {
				b.Errorf("closing the tab: %v", err)
			}
		})
		tabs := (sessionProvider{browser}).Current().Tabs()
		return tab.ID, tabs[len(tabs)-1].Page.Session()
	}

	b.Run("eval", func(b *testing.B) {
		id, raw := open(b, "/form")
		compare(b, func() error {
			n, err := evaluateRaw[int](ctx, raw, "1+1")
			if err == nil && n != 2 {
				err = fmt.Errorf("1+1 is %d", n)
			}
			return err
		}, func() error {
			res, err := pagetest.Of(session, id).Eval(ctx, "1+1", nil)
			if err == nil && string(res.Value) != "2" {
				err = fmt.Errorf("1+1 is %s", res.Value)
			}
			return err
		}, nil)
	})

	b.Run("snapshot", func(b *testing.B) {
		id, raw := open(b, "/app")
		shown := 0
		compare(b, func() error {
			text, err := evaluateRaw[string](ctx, raw, rawOutline)
			if n := strings.Count(text, "[ref="); err == nil && n < benchElements {
				err = fmt.Errorf("the raw outline has %d elements", n)
			}
			return err
		}, func() error {
			res, err := pagetest.Of(session, id).Snapshot(ctx, nil)
			if err == nil && res.Elements < benchElements {
				err = fmt.Errorf("the snapshot has %d elements", res.Elements)
			}
			if err == nil {
				shown = len(res.Text)
			}
			return err
		}, nil)
		b.ReportMetric(float64(shown), "result-bytes")
	})

	b.Run("click", func(b *testing.B) {
		id, raw := open(b, "/form")
		clicks := 0
		compare(b, func() error {
			clicks++
			return clickRaw(ctx, raw, "#count")
		}, func() error {
			clicks++
			_, err := pagetest.Of(session, id).Click(ctx, executor.Target{Selector: "#count"}, nil)
			return err
		}, nil)
		if n, err := evaluateRaw[int](ctx, raw, "clicks"); err != nil || n != clicks {
			b.Errorf("the page got %d clicks of %d, %v", n, clicks, err)
		}
	})

	b.Run("press", func(b *testing.B) {
		id, raw := open(b, "/form")
		compare(b, func() error {
			for _, kind := range []string{"rawKeyDown", "keyUp"} {
				if err := raw.Call(ctx, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "F8", "code": "F8", "windowsVirtualKeyCode": 119}, nil); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			_, err := pagetest.Of(session, id).Press(ctx, "F8", nil)
			return err
		}, nil)
	})
}

// clickRaw clicks the center of an element without checks.
func clickRaw(ctx context.Context, s *cdpconn.Session, selector string) error {
	at, err := evaluateRaw[[]float64](ctx, s, fmt.Sprintf(
		"(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()", selector))
	if err != nil {
		return err
	}
	var sent []*cdpconn.Pending
	for _, event := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		params := map[string]any{"type": event, "x": at[0], "y": at[1]}
		if event != "mouseMoved" {
			params["button"], params["clickCount"] = "left", 1
		}
		p, err := s.Start(ctx, "Input.dispatchMouseEvent", params)
		if err != nil {
			return err
		}
		sent = append(sent, p)
	}
	for _, p := range sent {
		if err := p.Wait(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkFirstPage measures the time from launch to a loaded page, with a new browser each time.
func BenchmarkFirstPage(b *testing.B) {
	ctx := b.Context()
	url := benchPages(b) + "/form"
	var ends []func() error // of the last browser
	compare(b, func() error {
		return firstPageRaw(ctx, benchOptions(b), url, func(f func() error) { ends = append(ends, f) })
	}, func() error {
		browser := mustNew(b, benchOptions(b))
		ends = append(ends, browser.Close)
		session, err := browser.NewSession(&executor.SessionOptions{Gate: executor.AllowAll})
		if err != nil {
			return err
		}
		_, tab, err := session.NewPage(ctx, &executor.NewPageOptions{URL: url})
		if err == nil && tab.Title != "Form" {
			err = fmt.Errorf("the page is %q", tab.Title)
		}
		return err
	}, func() {
		for _, end := range ends {
			if err := end(); err != nil {
				b.Error(err)
			}
		}
		ends = nil
	})
}

// firstPageRaw launches a browser and loads url with the minimal sequence of commands.
func firstPageRaw(ctx context.Context, o Options, url string, atEnd func(func() error)) error {
	p, err := launchBrowser(ctx, o)
	if err != nil {
		return err
	}
	conn := cdpconn.New(p.Transport)
	atEnd(func() error {
		ctx := context.Background()
		conn.BrowserSession().Call(ctx, "Browser.close", nil, nil)
		return errors.Join(p.Close(ctx), conn.Close())
	})
	var created struct {
		ID string `json:"targetId"`
	}
	if err := conn.BrowserSession().Call(ctx, "Target.createTarget", map[string]any{"url": "about:blank", "newWindow": true}, &created); err != nil {
		return err
	}
	if err := conn.BrowserSession().Call(ctx, "Target.attachToTarget", map[string]any{"targetId": created.ID, "flatten": true}, nil); err != nil {
		return err
	}
	var page *cdpconn.Session
	for page == nil {
		ev, err := conn.BrowserSession().Next(ctx)
		if err != nil {
			return err
		}
		page = ev.Child
	}
	if err := page.Call(ctx, "Page.enable", nil, nil); err != nil {
		return err
	}
	loaded, stop := page.Subscribe("Page.loadEventFired")
	defer stop()
	if err := page.Call(ctx, "Page.navigate", map[string]any{"url": url}, nil); err != nil {
		return err
	}
	select {
	case <-loaded:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	title, err := evaluateRaw[string](ctx, page, "document.title")
	if err == nil && title != "Form" {
		err = fmt.Errorf("the page is %q", title)
	}
	return err
}

// BenchmarkConnectCDP compares Runtime.evaluate through ConnectCDP with the raw pipe.
func BenchmarkConnectCDP(b *testing.B) {
	o := benchOptions(b)
	o.CDPClients = true
	backend := mustNew(b, o)
	defer backend.Close()
	c, err := backend.ConnectCDP(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	command := func(id int64, session, method, params string) json.RawMessage {
		if err := c.Send(b.Context(), executor.CDPMessage{ID: id, SessionID: session, Method: method, Params: json.RawMessage(params)}); err != nil {
			b.Fatal(err)
		}
		for {
			m, err := c.Receive(b.Context())
			if err != nil || m.Error != nil {
				b.Fatal(m.Error, err)
			}
			if m.Method == "" {
				return m.Result
			}
		}
	}
	target := memberOf(command(1, "", "Target.createTarget", `{"url":"about:blank"}`), "targetId")
	session := memberOf(command(2, "", "Target.attachToTarget", fmt.Sprintf(`{"targetId":%q,"flatten":true}`, target)), "sessionId")
	b.Run("raw", func(b *testing.B) {
		in := running(backend)
		tab, err := in.awaitTab(b.Context(), cdptarget.ID(target))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := tab.Page.Session().Call(b.Context(), "Runtime.evaluate", map[string]any{"expression": "1"}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("client", func(b *testing.B) {
		for b.Loop() {
			command(3, session, "Runtime.evaluate", `{"expression":"1"}`)
		}
	})
}
