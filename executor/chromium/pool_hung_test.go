package chromium

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// TestPoolHungBrowser checks which browser context is closed when a browser does not respond while
// its pages navigate.
func TestPoolHungBrowser(t *testing.T) {
	for _, tt := range []struct {
		name     string
		a, b     int    // navigations of two browser contexts while the browser does not respond
		responds bool   // after that, but in time
		want     string // the context that is closed
	}{
		{name: "one context floods", a: 3 * minFlood, b: minFlood, want: "a"},
		{name: "one context floods, browser responds", a: 3 * minFlood, responds: true},
		{name: "two contexts flood alike", a: minFlood, b: minFlood},
		{name: "page with 200 frames", a: 2 * 200},
		{name: "large application", a: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hung atomic.Bool
				var ping atomic.Pointer[cdproto.Message]
				var disposed atomic.Value
				remote := cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
					if cmd.Method == "Target.disposeBrowserContext" {
						disposed.Store(string(cmd.Params))
					}
					switch {
					case !hung.Load():
						remote.Reply(cmd, "{}")
					case cmd.Method == "Browser.getVersion":
						ping.Store(cmd)
					}
				})
				pooled := &pooledBrowser{conn: cdpconn.New(remote), log: slog.New(slog.DiscardHandler), instances: make(map[string]*instance)}
				backend := &Backend{log: pooled.log}
				for _, id := range []string{"a", "b"} {
					in := &instance{
						id: id, backend: backend, opts: Options{timing: timing.Current()}, pooled: pooled, tabs: newTabSet(), ended: make(chan struct{}),
						browserContext: browserContext{conn: pooled.conn, contextID: id},
					}
					pooled.instances[id] = in
					remote.Attach("", id, "page")
					ev, err := pooled.conn.BrowserSession().Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					in.tabs.attachDone(target.ID(id), in.tabs.newTab(target.ID(id), nil), page.AttachLazily(ev.Child, page.Options{}))
				}
				instances := pooled.all()
				pooled.work.Go(func() { follow(pooled.conn, pooled.handle) })
				defer func() {
					pooled.conn.Close()
					pooled.work.Wait()
					for _, in := range instances {
						for _, tab := range in.Tabs() {
							tab.Page.Wait()
						}
						in.work.Wait()
					}
				}()

				hung.Store(true)
				remote.Emit("", "Fetch.requestPaused", `{"requestId":"R","request":{"url":"https://a.test/","method":"GET","headers":{},"initialPriority":"High","referrerPolicy":"origin"},"frameId":"F","resourceType":"Document"}`)
				synctest.Wait()
				if ping.Load() == nil {
					t.Fatal("it is not checked that the browser responds")
				}
				for id, n := range map[string]int{"a": tt.a, "b": tt.b} {
					for range n {
						remote.Emit(id, "Page.frameStartedLoading", `{"frameId":"F"}`)
					}
				}
				synctest.Wait()
				for _, in := range instances {
					if in.evicted.Load() != nil {
						t.Errorf("context %s was closed immediately", in.id)
					}
				}
				if tt.responds {
					remote.Reply(ping.Load(), "{}")
				}
				time.Sleep(floodPing)
				synctest.Wait()
				for _, in := range instances {
					if got, want := in.evicted.Load() != nil, in.id == tt.want; got != want {
						t.Errorf("context %s is closed: %v, want %v", in.id, got, want)
					}
				}
				if got, want := disposed.Load(), tt.want; want != "" && got != `{"browserContextId":"`+want+`"}` || want == "" && got != nil {
					t.Errorf("disposed of %v, want %q", got, want)
				}
			})
		})
	}
}
