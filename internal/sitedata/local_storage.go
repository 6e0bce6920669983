package sitedata

import (
	"context"
	"encoding/base64"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/statefile"
)

// OriginStorage is the complete local storage of an origin.
type OriginStorage struct {
	Origin string
	Items  []statefile.Item
}

// LocalStorage returns the local storage of the top document's origin.
func (s *Store) LocalStorage(ctx context.Context) (*OriginStorage, error) {
	items, origin, err := callStorageScript[[]statefile.Item](ctx, s, executor.OpState, executor.StorageLocal, "allItems")
	if err != nil {
		return nil, err
	}
	return &OriginStorage{Origin: origin, Items: *items}, nil
}

// RestoreLocalStorage loads an empty document of an origin in the tab and writes items to its local
// storage. It sends no request: it supplies the document itself. The tab must be one that we
// opened, in a managed browser.
func (s *Store) RestoreLocalStorage(ctx context.Context, storage OriginStorage) error {
	if err := s.loadBlankPage(ctx, storage.Origin+"/"); err != nil {
		return err
	}
	_, origin, err := callStorageScript[int](ctx, s, executor.OpState, executor.StorageLocal, "setItems", storage.Items)
	if err == nil && origin != storage.Origin {
		err = executor.Errorf(executor.ErrNavigationFailed, "", "the browser shows %s in place of %s", origin, storage.Origin)
	}
	return err
}

// emptyPage is a document that loads no resources and runs no scripts.
const emptyPage = "<!doctype html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><title>chrome-mcp</title>"

// loadBlankPage navigates to url and answers the request with emptyPage. All other requests of the
// tab fail until it returns.
func (s *Store) loadBlankPage(ctx context.Context, url string) error {
	sess, top := s.client.Tree.Session(), s.client.Tree.TopFrame()
	paused, cancel := sess.Subscribe("Fetch.requestPaused")
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
			if e.Request == nil || e.Request.URL != url || e.FrameID != top {
				sess.Start(ctx, "Fetch.failRequest", map[string]any{"requestId": e.RequestID, "errorReason": network.ErrorReasonBlockedByClient})
				continue
			}
			sess.Start(ctx, "Fetch.fulfillRequest", map[string]any{
				"requestId": e.RequestID, "responseCode": 200, "body": base64.StdEncoding.EncodeToString([]byte(emptyPage)),
				"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html; charset=utf-8"}},
			})
		}
	}()
	if err := sess.Call(ctx, "Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*"}}}, nil); err != nil {
		return err
	}
	defer sess.Start(context.WithoutCancel(ctx), "Fetch.disable", nil)
	return s.opts.Navigate(ctx, url)
}
