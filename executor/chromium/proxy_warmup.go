package chromium

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
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

// proxyCredentials are the credentials of the egress proxy in the browser of an instance.
type proxyCredentials struct {
	in *instance

	mu         sync.Mutex // held while a tab stores them; guards the fields below
	known      bool       // the browser has stored them
	challenged time.Time  // when the browser last did not know them
}

// store makes the browser store the credentials of the egress proxy, with a request from its first
// tab while that tab is still blank. Afterwards the browser sends them without a challenge. This
// also covers WebSockets, for whose challenges CDP sends no event (measured on Chromium 156).
func (pc *proxyCredentials) store(ctx context.Context, p *page.Tab, info *target.Info) error {
	if !pc.in.filtered() || info.OpenerID != "" {
		return nil
	}
	pc.mu.Lock()
	defer pc.mu.Unlock()
	if pc.known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pc.in.opts.timing.ProxyRequest)
	defer cancel()
	var challenged bool
	err := p.Interception.WithoutFilter(ctx, func() (err error) {
		challenged, err = answerProxyChallenge(ctx, p.Session(), pc.in.proxy.Credentials())
		return err
	})
	if challenged {
		pc.challenged = time.Now()
	}
	if err != nil {
		return executor.Errorf(executor.ErrLaunchFailed, "Try again, or with another browser.", "the browser does not use the egress proxy: %w", err)
	}
	pc.known = true
	return nil
}

// storeInNewTab makes the browser store the proxy's credentials for its default context, unless a
// tab has done so. It uses a blank tab, which it closes immediately.
func (pc *proxyCredentials) storeInNewTab(ctx context.Context) error {
	pc.in.waitForExistingTabs(ctx)
	pc.mu.Lock()
	known := pc.known
	pc.mu.Unlock()
	if known || !pc.in.filtered() {
		return nil
	}
	t, err := pc.in.NewTab(ctx, nil)
	if err == nil {
		_, err = pc.in.CloseTab(ctx, t)
	}
	return err
}

// forgotten reports whether a request without the credentials, which arrived at a time and may come
// from any program, shows that the browser has forgotten them, and makes it store them again. The
// network process stores them, and the browser starts a new one after a crash.
func (pc *proxyCredentials) forgotten(at time.Time) bool {
	pc.mu.Lock()
	stored := at.Before(pc.challenged)
	pc.known = pc.known && stored
	pc.mu.Unlock()
	if stored {
		return true // after that request
	}
	ctx, cancel := context.WithTimeout(context.Background(), pc.in.opts.timing.AttachTab)
	defer cancel()
	if err := pc.storeInNewTab(ctx); err != nil {
		pc.in.backend.log.Warn("sending the proxy credentials to the browser again failed", "error", err)
		return true
	}
	pc.mu.Lock()
	defer pc.mu.Unlock()
	return at.Before(pc.challenged)
}

// answerProxyChallenge makes the blank page of s send a request to the proxy, and answers the
// challenge, if there is one.
func answerProxyChallenge(ctx context.Context, s *cdpconn.Session, credentials *url.Userinfo) (challenged bool, err error) {
	var answered atomic.Bool
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
		answered.Store(true)
		password, _ := credentials.Password()
		return "Fetch.continueWithAuth", map[string]any{"requestId": e.RequestID, "authChallengeResponse": map[string]any{
			"response": "ProvideCredentials", "username": credentials.Username(), "password": password,
		}}, err
	})()
	if err := s.Call(ctx, "Fetch.enable", map[string]any{"handleAuthRequests": true}, nil); err != nil {
		return false, err
	}
	var res runtime.EvaluateResult
	err = s.Call(ctx, "Runtime.evaluate", map[string]any{
		"expression":   fmt.Sprintf("fetch(%q, {mode: 'no-cors', cache: 'no-store'}).then(() => '')", egress.WarmUpURL),
		"awaitPromise": true, "returnByValue": true,
	}, &res)
	switch {
	case err != nil && context.Cause(ctx) != nil:
		return answered.Load(), context.Cause(ctx)
	case err != nil:
		return answered.Load(), err
	case res.ExceptionDetails != nil:
		return answered.Load(), errors.New(res.ExceptionDetails.Text)
	}
	return answered.Load(), s.Call(ctx, "Fetch.disable", nil, nil)
}
