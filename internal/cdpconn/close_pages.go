package cdpconn

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/target"
)

// closeInterval is the time after which a page that is still open is closed again. Chromium ignores a
// command to close a page in which a navigation commits at that time, and accepts the next one, even if
// the new document hangs. For the same reason it may never reply to Target.disposeBrowserContext
// (measured on Chromium 156).
const closeInterval = time.Second

// ClosePage closes the page of the CDP session s, and waits until it is gone. While hasDialog returns true
// it does not close it again: the dialog may ask whether the page may be closed.
func ClosePage(ctx context.Context, browser, s *Session, hasDialog func() bool) error {
	closing := map[string]any{"targetId": s.Target().TargetID}
	if err := browser.Call(ctx, "Target.closeTarget", closing, nil); err != nil {
		return err
	}
	for {
		select {
		case <-s.Gone():
			return nil
		case <-time.After(closeInterval):
			if !hasDialog() {
				browser.Start(ctx, "Target.closeTarget", closing)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ClosePages closes the pages of a browser context that is being disposed of, until it has none or
// ctx is done.
func ClosePages(ctx context.Context, conn *Conn, browserContext string) {
	s := conn.BrowserSession()
	for {
		select {
		case <-time.After(closeInterval):
		case <-ctx.Done():
			return
		}
		var res target.GetTargetsResult
		if err := s.Call(ctx, "Target.getTargets", nil, &res); err != nil {
			return
		}
		left := false
		for _, info := range res.TargetInfos {
			if info.Type == "page" && string(info.BrowserContextID) == browserContext {
				left = true
				s.Start(ctx, "Target.closeTarget", map[string]any{"targetId": info.TargetID})
			}
		}
		if !left {
			return
		}
	}
}
