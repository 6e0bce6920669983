package cdpconn

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// A Version is the result of Browser.getVersion.
type Version = browser.GetVersionResult

// GetVersion sends Browser.getVersion and waits for the response. Before the first other command
// the browser sends no events, so none can be missed.
func GetVersion(ctx context.Context, t chromedp.Transport) (Version, error) {
	const id = 1
	if err := t.Write(ctx, &cdproto.Message{ID: id, Method: "Browser.getVersion"}); err != nil {
		return Version{}, err
	}
	for {
		var m cdproto.Message
		if err := t.Read(ctx, &m); err != nil {
			return Version{}, err
		}
		if m.ID != id {
			continue
		}
		if m.Error != nil {
			return Version{}, m.Error
		}
		var v Version
		if err := json.Unmarshal(m.Result, &v); err != nil {
			return Version{}, fmt.Errorf("answer to Browser.getVersion: %w", err)
		}
		return v, nil
	}
}
