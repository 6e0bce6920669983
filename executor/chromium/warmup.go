package chromium

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/egress"
	"github.com/chrome-mcp/chrome-mcp/internal/page"
)

// warmUpTimeout bounds one request to our own proxy.
const warmUpTimeout = 10 * time.Second

// warmUp has a run's browser learn the credentials of the filtering proxy, by
// a request from its first tab, which is blank still. From then on it gives
// them unasked, for WebSockets too, of whose challenges the protocol does not
// tell (measured on Chromium 156).
func (r *run) warmUp(ctx context.Context, p *page.Tab, info *target.Info) error {
	if !r.filtered() || info.OpenerID != "" {
		return nil
	}
	r.warming.Lock()
	defer r.warming.Unlock()
	if r.warm {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, warmUpTimeout)
	defer cancel()
	err := p.WithoutWall(ctx, func() error { return giveCredentials(ctx, p.Session(), r.proxy.Credentials()) })
	if err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "Try again, or with another browser.", "the browser does not go through the filtering proxy: %w", err)
	}
	r.warm = true
	return nil
}

// warmUpAgain has the browser learn the credentials once more, from a blank tab
// that is closed at once. Its network process keeps them, and the browser starts
// another one when that has crashed.
func (r *run) warmUpAgain() {
	r.warming.Lock()
	r.warm = false
	r.warming.Unlock()
	ctx, cancel := detached(attachTimeout)
	defer cancel()
	t, err := r.NewTab(ctx, nil)
	if err == nil {
		_, err = r.CloseTab(ctx, t)
	}
	if err != nil {
		r.browser.log.Warn("the browser was not told the proxy's credentials again", "error", err)
	}
}

// giveCredentials has the blank page of s make a request to the proxy, and
// answers the challenge that comes first.
func giveCredentials(ctx context.Context, s *cdpconn.Session, credentials *url.Userinfo) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	answer := func(method string, reply func(jsonv2.Value) (string, map[string]any, error)) func() {
		events, cancel := s.Subscribe(method)
		go func() {
			for raw := range events {
				method, params, err := reply(raw)
				if err == nil {
					err = s.Call(ctx, method, params, nil)
				}
				if err != nil {
					stop(err)
				}
			}
		}()
		return cancel
	}
	defer answer("Fetch.requestPaused", func(raw jsonv2.Value) (string, map[string]any, error) {
		var e fetch.EventRequestPaused
		err := cdpconn.Unmarshal(raw, &e)
		return "Fetch.continueRequest", map[string]any{"requestId": e.RequestID}, err
	})()
	defer answer("Fetch.authRequired", func(raw jsonv2.Value) (string, map[string]any, error) {
		var e fetch.EventAuthRequired
		err := cdpconn.Unmarshal(raw, &e)
		password, _ := credentials.Password()
		return "Fetch.continueWithAuth", map[string]any{"requestId": e.RequestID, "authChallengeResponse": map[string]any{
			"response": "ProvideCredentials", "username": credentials.Username(), "password": password,
		}}, err
	})()
	if err := s.Call(ctx, "Fetch.enable", map[string]any{"handleAuthRequests": true}, nil); err != nil {
		return err
	}
	var asked struct {
		Result    runtime.RemoteObject      `json:"result"`
		Exception *runtime.ExceptionDetails `json:"exceptionDetails"`
	}
	err := s.Call(ctx, "Runtime.evaluate", map[string]any{
		"expression":   fmt.Sprintf("fetch(%q, {mode: 'no-cors', cache: 'no-store'}).then(() => '')", egress.WarmUpURL),
		"awaitPromise": true, "returnByValue": true,
	}, &asked)
	switch {
	case err != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case asked.Exception != nil:
		return errors.New(asked.Exception.Text)
	}
	return s.Call(ctx, "Fetch.disable", nil, nil)
}
