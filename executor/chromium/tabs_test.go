package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
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

// TestAttachFails checks that a page that cannot become a tab is closed: no session sees it, so no
// call would close it.
func TestAttachFails(t *testing.T) {
	for _, opened := range []bool{false, true} { // by a call
		synctest.Test(t, func(t *testing.T) {
			var closed atomic.Int32
			attach := func(remote *cdptest.FakeTransport) {
				remote.Emit("", "Target.attachedToTarget", `{"sessionId":"T","waitingForDebugger":false,"targetInfo":{"targetId":"T","type":"page","title":"","url":"about:blank","attached":true,"canAccessOpener":false,"browserContextId":"a"}}`)
			}
			remote := cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
				switch {
				case cmd.Method == "Runtime.evaluate" && strings.Contains(string(cmd.Params), egress.WarmUpURL):
				case cmd.Method == "Target.createTarget": // the page is never attached
					remote.Reply(cmd, `{"targetId":"T"}`)
				case cmd.Method == "Target.closeTarget":
					n := closed.Add(1)
					remote.Reply(cmd, "{}")
					if !opened && n == 2 { // Chromium ignores the first while a navigation commits
						remote.Detach("", "T")
					}
				default:
					remote.Reply(cmd, "{}")
				}
			})
			in := &instance{
				backend: &Backend{log: slog.New(slog.DiscardHandler)}, opts: Options{timing: timing.Current(), CDPEndpoint: "http://127.0.0.1:1"},
				tabs: newTabSet(), proxy: new(egress.Proxy), browserContext: browserContext{conn: cdpconn.New(remote), contextID: "a"},
			}
			in.clients, in.proxyCredentials, in.documents = newCDPClients(in), &proxyCredentials{in: in}, &documentFilter{in: in}
			in.work.Go(func() { follow(in.conn, in.handle) })
			if opened {
				if _, err := in.NewTab(t.Context(), nil); err == nil {
					t.Error("the tab was opened")
				}
			} else {
				attach(remote)
				time.Sleep(2 * timing.Current().AttachTab)
			}
			synctest.Wait()
			if n, want := closed.Load(), map[bool]int32{false: 2, true: 1}[opened]; n != want || in.tabs.pending() != 0 {
				t.Errorf("opened = %v: %d commands to close the page, %d pending tabs", opened, n, in.tabs.pending())
			}
			in.conn.Close()
			in.work.Wait()
		})
	}
}

// TestAttachAgain checks that a tab of the user that was left alone, because it showed a browser page
// when it was attached, is attached when it shows a regular page again.
func TestAttachAgain(t *testing.T) {
	var attached atomic.Int32
	remote := cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
		if cmd.Method == "Target.attachToTarget" {
			attached.Add(1)
		}
		remote.Reply(cmd, "{}")
	})
	in := &instance{
		backend: &Backend{log: slog.New(slog.DiscardHandler)}, opts: Options{timing: timing.Current(), AttachDefaultContext: true},
		tabs: newTabSet(), browserContext: browserContext{conn: cdpconn.New(remote)},
	}
	in.clients = newCDPClients(in)
	regular, internal := target.Info{TargetID: "T", Type: "page", URL: "https://a.test/"}, target.Info{TargetID: "T", Type: "page", URL: "chrome://settings/"}
	in.discovered(&regular)
	in.onAttached(attachPage(t, in, remote, "T").Child, target.EventAttachedToTarget{TargetInfo: &internal})
	in.discovered(&internal)
	in.discovered(&regular)
	in.work.Wait()
	if n := attached.Load(); n != 2 {
		t.Errorf("attached %d times, want 2", n)
	}
	in.conn.Close()
}

// TestAttachUnresponsive checks that a tab of the user that does not respond is attached once, although
// the browser reports every detach as a change of the tab, until it shows another page.
func TestAttachUnresponsive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attached atomic.Int32
		change := func(remote *cdptest.FakeTransport, url string) {
			remote.Emit("", "Target.targetInfoChanged", fmt.Sprintf(`{"targetInfo":{"targetId":"T","type":"page","title":"","url":%q,"attached":false,"canAccessOpener":false}}`, url))
		}
		remote := cdptest.New(func(remote *cdptest.FakeTransport, cmd *cdproto.Message) {
			switch cmd.Method {
			case "Target.attachToTarget":
				n := attached.Add(1)
				remote.Reply(cmd, "{}")
				remote.Emit("", "Target.attachedToTarget", fmt.Sprintf(`{"sessionId":"S%d","waitingForDebugger":false,"targetInfo":{"targetId":"T","type":"page","title":"","url":"https://a.test/%d","attached":true,"canAccessOpener":false}}`, n, n))
			case "Target.detachFromTarget":
				remote.Reply(cmd, "{}")
				change(remote, fmt.Sprintf("https://a.test/%d", attached.Load()))
			case "Page.enable", "Input.dispatchMouseEvent": // the page does not respond
			default:
				remote.Reply(cmd, "{}")
			}
		})
		in := &instance{
			backend: &Backend{log: slog.New(slog.DiscardHandler)}, opts: Options{timing: timing.Current(), AttachDefaultContext: true},
			tabs: newTabSet(), browserContext: browserContext{conn: cdpconn.New(remote)},
		}
		in.clients, in.proxyCredentials, in.documents = newCDPClients(in), &proxyCredentials{in: in}, &documentFilter{in: in}
		in.work.Go(func() { follow(in.conn, in.handle) })
		for n := range int32(2) {
			change(remote, fmt.Sprintf("https://a.test/%d", n+1))
			synctest.Wait()
			in.waitForExistingTabs(t.Context())
			time.Sleep(2 * timing.Current().AttachTab)
			synctest.Wait()
			if got := attached.Load(); got != n+1 || in.tabs.isAttaching() {
				t.Errorf("attached %d times, want %d; attaching: %v", got, n+1, in.tabs.isAttaching())
			}
		}
		in.conn.Close()
		in.work.Wait()
	})
}
