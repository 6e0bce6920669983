package chromium

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// TestCloseTabAgain closes a tab whose browser ignores the first command to close it. While a dialog is
// open, which may ask whether the page may be closed, the command is not repeated.
func TestCloseTabAgain(t *testing.T) {
	for _, dialog := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var commands atomic.Int32
			remote := cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
				remote.Reply(cmd, "{}")
				if cmd.Method == "Target.closeTarget" && commands.Add(1) == 2 {
					remote.Detach("", "T")
				}
			})
			in := &instance{
				backend: &Backend{log: slog.New(slog.DiscardHandler)}, opts: Options{timing: timing.Current()}, tabs: newTabSet(),
				browserContext: browserContext{conn: cdpconn.New(remote), contextID: "a"},
			}
			remote.Attach("", "T", "page")
			ev, err := in.conn.BrowserSession().Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tab := in.tabs.newTab("T", nil)
			tab.SetOwner(new(session.Session))
			in.tabs.attachDone("T", tab, page.AttachLazily(ev.Child, page.Options{}))
			defer func() {
				in.conn.Close()
				tab.Page.Wait()
			}()
			if dialog {
				remote.Emit("T", "Page.javascriptDialogOpening", `{"url":"https://a.test/","frameId":"T","message":"","type":"beforeunload","hasBrowserHandler":false}`)
				synctest.Wait()
			}
			ctx, cancel := context.WithTimeout(t.Context(), timing.Current().CloseTabs)
			defer cancel()
			_, err = in.CloseTab(ctx, tab)
			if n := commands.Load(); dialog && (n != 1 || !errors.Is(err, context.DeadlineExceeded)) || !dialog && (n != 2 || err != nil) {
				t.Errorf("dialog = %v: %d commands, %v", dialog, n, err)
			}
		})
	}
}
