package page

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/frametest"
)

// TestLiveDialog checks that a live view keeps the dialog of the page when it returns an image that
// the browser sent before the dialog opened.
func TestLiveDialog(t *testing.T) {
	var frames atomic.Int64
	frame := func(b *cdptest.FakeTransport) {
		b.Emit("T", "Page.screencastFrame", fmt.Sprintf(`{"data":"AAAA","sessionId":%d,"metadata":{"offsetTop":0,"pageScaleFactor":1,"deviceWidth":800,"deviceHeight":600,"scrollOffsetX":0,"scrollOffsetY":0}}`, frames.Add(1)))
	}
	var hold atomic.Bool
	held := make(chan *cdproto.Message, 1)
	b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
		if cmd.Method == "Page.getFrameTree" && hold.CompareAndSwap(true, false) {
			held <- cmd
			return
		}
		b.Reply(cmd, "{}")
		if cmd.Method == "Page.startScreencast" {
			frame(b)
		}
	})
	tab := attach(t, b)
	frametest.Load(t, b, tab.tree, 1)
	l := tab.NewView(ViewOptions{Gate: executor.AllowAll}).Watch()
	defer l.Close()
	next := func() *executor.LiveImage {
		t.Helper()
		image, err := l.Next(await.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	if image := next(); image.JPEG == nil || image.Dialog != nil {
		t.Fatalf("the page is shown as %+v", image)
	}

	// The renderer confirms the frame after the dialog has opened.
	hold.Store(true)
	frame(b)
	confirm := make(chan *cdproto.Message)
	go func() {
		cmd := <-held
		b.Emit("T", "Page.javascriptDialogOpening", `{"url":"https://a.test/1","frameId":"T","message":"Your code?","type":"prompt","hasBrowserHandler":false,"defaultPrompt":""}`)
		confirm <- cmd
	}()
	want := executor.Dialog{Type: executor.DialogPrompt, Message: "Your code?"}
	if image := next(); image.JPEG != nil || image.Dialog == nil || *image.Dialog != want {
		t.Fatalf("the dialog is shown as %+v", image)
	}
	b.Reply(<-confirm, "{}")
	if image := next(); image.JPEG == nil || image.Dialog == nil || *image.Dialog != want {
		t.Errorf("the frame from before the dialog is shown as %+v", image)
	}
	b.Emit("T", "Page.javascriptDialogClosed", `{"frameId":"T","result":true,"userInput":"42"}`)
	for image := next(); image.JPEG == nil || image.Dialog != nil; image = next() {
	}
}

// TestLiveRefresh checks that a live view shows a change of which the browser sent no frame, and
// shows no image again that has not changed.
func TestLiveRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
			b.Reply(cmd, "{}")
			if cmd.Method != "Page.startScreencast" {
				return
			}
			data := "AAAA"
			if starts++; starts > 4 { // the first two are those of the first image
				data = "BBBB"
			}
			b.Emit("T", "Page.screencastFrame", fmt.Sprintf(`{"data":%q,"sessionId":%d,"metadata":{"offsetTop":0,"pageScaleFactor":1,"deviceWidth":800,"deviceHeight":600,"scrollOffsetX":0,"scrollOffsetY":0}}`, data, starts))
		})
		tab := attach(t, b)
		frametest.Load(t, b, tab.tree, 1)
		l := tab.NewView(ViewOptions{Gate: executor.AllowAll}).Watch()
		defer l.Close()
		for _, want := range []byte{0x00, 0x04} {
			image, err := l.Next(t.Context())
			if err != nil || len(image.JPEG) == 0 || image.JPEG[0] != want {
				t.Fatalf("the live view shows %+v, %v; want %x", image, err, want)
			}
		}
		if starts != 5 {
			t.Errorf("the screencast was started %d times", starts)
		}
	})
}

// TestLiveBetweenDocuments checks that a live view continues if the browser rejects its screencast
// because the next document is about to commit.
func TestLiveBetweenDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		b := cdptest.New(func(b *cdptest.FakeTransport, cmd *cdproto.Message) {
			if cmd.Method != "Page.startScreencast" {
				b.Reply(cmd, "{}")
				return
			}
			if starts++; starts == 1 {
				b.Fail(cmd, -32000, "Not attached to an active page")
				return
			}
			b.Reply(cmd, "{}")
			b.Emit("T", "Page.screencastFrame", fmt.Sprintf(`{"data":"AAAA","sessionId":%d,"metadata":{"offsetTop":0,"pageScaleFactor":1,"deviceWidth":800,"deviceHeight":600,"scrollOffsetX":0,"scrollOffsetY":0}}`, starts))
		})
		tab := attach(t, b)
		frametest.Load(t, b, tab.tree, 1)
		l := tab.NewView(ViewOptions{Gate: executor.AllowAll}).Watch()
		defer l.Close()
		if image, err := l.Next(t.Context()); err != nil || len(image.JPEG) == 0 {
			t.Errorf("after a rejected screencast, the live view shows %+v, %v", image, err)
		}
	})
}
