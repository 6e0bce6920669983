package page

import (
	"context"
	"encoding/base64"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

// Kept is the local storage of an origin, whole.
type Kept struct {
	Origin string
	Items  []statefile.Item
}

// KeptItems returns the local storage of the top document's origin.
func (v *View) KeptItems(ctx context.Context) (*Kept, error) {
	items, origin, err := stored[[]statefile.Item](ctx, v, executor.OpState, executor.StorageLocal, "allItems")
	if err != nil {
		return nil, err
	}
	return &Kept{Origin: origin, Items: *items}, nil
}

// BringItems has the tab show an empty document of an origin, and puts items
// into the local storage there. Nothing is requested: the document is ours. The
// tab must be one of our own, in a browser that we launched.
func (v *View) BringItems(ctx context.Context, kept Kept) error {
	if err := v.showEmpty(ctx, kept.Origin+"/"); err != nil {
		return err
	}
	_, origin, err := stored[int](ctx, v, executor.OpState, executor.StorageLocal, "setItems", kept.Items)
	if err == nil && origin != kept.Origin {
		err = executor.Errorf(executor.ErrNavigationFailed, "", "the browser shows %s in place of %s", origin, kept.Origin)
	}
	return err
}

// emptyPage is a document that loads nothing and runs nothing.
const emptyPage = "<!doctype html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><title>chrome-mcp</title>"

// showEmpty goes to url and answers for its server. Whatever else the tab
// requests meanwhile fails.
func (v *View) showEmpty(ctx context.Context, url string) error {
	s := v.tab.sess
	paused, cancel := s.Subscribe("Fetch.requestPaused")
	answered := make(chan struct{})
	defer func() {
		cancel()
		<-answered
	}()
	go func() {
		defer close(answered)
		for raw := range paused {
			var e fetch.EventRequestPaused
			if cdpconn.Unmarshal(raw, &e) != nil {
				continue
			}
			if e.Request == nil || e.Request.URL != url || e.FrameID != v.tab.main {
				s.Start(ctx, "Fetch.failRequest", map[string]any{"requestId": e.RequestID, "errorReason": network.ErrorReasonBlockedByClient})
				continue
			}
			s.Start(ctx, "Fetch.fulfillRequest", map[string]any{
				"requestId": e.RequestID, "responseCode": 200, "body": base64.StdEncoding.EncodeToString([]byte(emptyPage)),
				"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html; charset=utf-8"}},
			})
		}
	}()
	if err := s.Call(ctx, "Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*"}}}, nil); err != nil {
		return err
	}
	defer s.Start(context.WithoutCancel(ctx), "Fetch.disable", nil)
	_, err := v.Navigate(ctx, url, nil)
	return err
}
