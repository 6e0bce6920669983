package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/notify"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
	"github.com/chrome-mcp/chrome-mcp/internal/session"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// deafBrowser returns an instance whose browser ignores the first command to close a page. It has a tab
// of owner. commands returns the number of commands to close a page.
func deafBrowser(t *testing.T, owner *session.Session) (in *instance, remote *cdptest.FakeTransport, tab *session.Tab, commands func() int32) {
	t.Helper()
	var count atomic.Int32
	remote = cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
		remote.Reply(cmd, "{}")
		if cmd.Method != "Target.closeTarget" || count.Add(1) != 2 {
			return
		}
		var closing target.CloseTargetParams
		if err := json.Unmarshal(cmd.Params, &closing); err != nil {
			t.Error(err)
		}
		remote.Detach("", string(closing.TargetID))
	})
	in = &instance{
		backend: &Backend{log: slog.New(slog.DiscardHandler)}, opts: Options{timing: timing.Current()}, tabs: newTabSet(),
		browserContext: browserContext{conn: cdpconn.New(remote), contextID: "a"},
	}
	in.clients = newCDPClients(in)
	tab = in.tabs.newTab("T", nil)
	tab.SetOwner(owner)
	in.tabs.attachDone("T", tab, page.AttachLazily(attachPage(t, in, remote, "T").Child, page.Options{}))
	t.Cleanup(func() {
		in.conn.Close()
		tab.Page.Wait()
		in.work.Wait()
	})
	return in, remote, tab, count.Load
}

// attachPage attaches a page and returns the event.
func attachPage(t *testing.T, in *instance, remote *cdptest.FakeTransport, id string) cdpconn.Event {
	t.Helper()
	remote.Attach("", id, "page")
	ev, err := in.conn.BrowserSession().Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// TestCloseTabAgain closes a tab whose browser ignores the first command to close it. While a dialog is
// open, which may ask whether the page may be closed, the command is not repeated.
func TestCloseTabAgain(t *testing.T) {
	for _, dialog := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			in, remote, tab, commands := deafBrowser(t, new(session.Session))
			if dialog {
				remote.Emit("T", "Page.javascriptDialogOpening", `{"url":"https://a.test/","frameId":"T","message":"","type":"beforeunload","hasBrowserHandler":false}`)
				synctest.Wait()
			}
			ctx, cancel := context.WithTimeout(t.Context(), timing.Current().CloseTabs)
			defer cancel()
			_, err := in.CloseTab(ctx, tab)
			if n := commands(); dialog && (n != 1 || !errors.Is(err, context.DeadlineExceeded)) || !dialog && (n != 2 || err != nil) {
				t.Errorf("dialog = %v: %d commands, %v", dialog, n, err)
			}
		})
	}
}

// TestCloseTabOverLimitAgain is the same for a tab over the limit: it is not listed, so nothing else would
// close it. A tab that is being attached counts.
func TestCloseTabOverLimitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, remote, tab, commands := deafBrowser(t, session.New(nil, executor.SessionOptions{MaxTabs: 2}))
		if _, ok := in.beginPopup(tab); !ok {
			t.Fatal("the page cannot open the second tab")
		}
		popup := attachPage(t, in, remote, "P").Child
		info := *popup.Target()
		info.OpenerID = "T"
		in.onAttached(popup, target.EventAttachedToTarget{TargetInfo: &info})
		in.work.Wait()
		if n := commands(); n != 2 || !notify.IsClosed(popup.Gone()) {
			t.Errorf("%d commands, and the tab is closed: %v", n, notify.IsClosed(popup.Gone()))
		}
	})
}
