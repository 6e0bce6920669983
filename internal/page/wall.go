package page

import (
	"context"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A Wall filters the requests of a tab until the tab is released. It is for
// attached browsers, which have no other network enforcement. Requests that CDP
// does not report bypass it: WebSockets, and requests that workers and frames send
// before we attach to them.
type Wall struct {
	// AtOnce starts request interception when we attach to the tab, not at the
	// first call on it, and rejects HTTP authentication. It is for browser
	// contexts whose tabs are all ours.
	AtOnce bool
	// Documents means that Decide is called only for the documents of the tab
	// itself. With AtOnce, all other requests are intercepted, too, and then
	// continued.
	Documents bool
	// Decide returns why a request is refused, nil when it is not. document says
	// that it is for the tab's own document, at each hop. It must not block.
	Decide func(url string, document bool) error
}

// raiseWall has the browser ask before the tab requests anything more.
func (t *Tab) raiseWall(ctx context.Context) error {
	if t.opts.Wall == nil {
		return nil
	}
	t.mu.Lock()
	up := t.walled
	t.walled = true
	sessions := t.sessions()
	t.mu.Unlock()
	if up {
		return nil
	}
	command := t.opts.Wall.command()
	for _, s := range sessions {
		if err := s.Call(ctx, command.method, command.params, nil); err != nil && s == t.sess { // a frame may go
			t.mu.Lock()
			t.walled = false
			t.mu.Unlock()
			return executor.Errorf(executor.ErrPolicyDenied, "Try again, or use another tab.", "what the tab requests cannot be held to the policy: %w", err)
		}
	}
	return nil
}

// WithoutWall calls f while request interception is off, so that f can answer the
// requests of the tab. It enables interception again if f succeeds.
func (t *Tab) WithoutWall(ctx context.Context, f func() error) error {
	t.mu.Lock()
	up := t.walled
	t.walled = false
	t.mu.Unlock()
	err := f()
	if up && err == nil {
		err = t.raiseWall(ctx)
	}
	return err
}

func (t *Tab) isWalled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.walled
}

func (w *Wall) command() command {
	pattern := map[string]any{"urlPattern": "*", "requestStage": "Request"}
	if w.Documents && !w.AtOnce {
		pattern["resourceType"] = network.ResourceTypeDocument
	}
	// The browser reports authentication only for intercepted requests.
	return command{"Fetch.enable", map[string]any{"patterns": []any{pattern}, "handleAuthRequests": w.AtOnce}}
}

// authRequired rejects a request for a user name and password, for which the
// browser would prompt its user. The page receives the 401 response.
func (t *Tab) authRequired(s *cdpconn.Session, e fetch.EventAuthRequired) {
	if t.isWalled() {
		s.Start(context.Background(), "Fetch.continueWithAuth", map[string]any{
			"requestId": e.RequestID, "authChallengeResponse": map[string]any{"response": fetch.AuthChallengeResponseResponseCancelAuth},
		})
	}
}

// requestPaused answers for a request that waits at the wall. One that waits
// without it is for whoever had it wait.
func (t *Tab) requestPaused(s *cdpconn.Session, e fetch.EventRequestPaused) {
	if !t.isWalled() {
		return
	}
	document := e.ResourceType == network.ResourceTypeDocument && e.FrameID == t.main
	method, params := "Fetch.continueRequest", map[string]any{"requestId": e.RequestID}
	if e.Request != nil && (document || !t.opts.Wall.Documents) {
		if err := t.opts.Wall.Decide(e.Request.URL, document); err != nil {
			method, params["errorReason"] = "Fetch.failRequest", network.ErrorReasonBlockedByClient
		}
	}
	s.Start(context.Background(), method, params)
}
