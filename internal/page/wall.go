package page

import (
	"context"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
)

// A Wall decides on what a tab requests, from the first call on it until it is
// let go. It stands where nothing else holds what pages do: in browsers that
// are somebody's. What the protocol does not tell of passes it: WebSockets,
// and what workers and frames request before they are followed.
type Wall struct {
	// Documents says that only those of the tab itself are decided on.
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

func (t *Tab) isWalled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.walled
}

func (w *Wall) command() command {
	pattern := map[string]any{"urlPattern": "*", "requestStage": "Request"}
	if w.Documents {
		pattern["resourceType"] = network.ResourceTypeDocument
	}
	return command{"Fetch.enable", map[string]any{"patterns": []any{pattern}}}
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
