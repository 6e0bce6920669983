package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is how often a call that takes longer tells the client that
// it is alive, so that hosts which reset their timeout on progress do.
const progressEvery = time.Second

// A waiter is an argument struct that can say what its call waits for.
type waiter interface{ waitsFor() string }

// startProgress sends progress notifications for a call, if its client asked
// for them, until the returned func is called; after that none is sent.
func (s *session) startProgress(ctx context.Context, req *sdk.CallToolRequest, tool string, args any) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	what := tool
	if w, ok := args.(waiter); ok && w.waitsFor() != "" {
		what = w.waitsFor()
	}
	if !s.warm.Load() {
		what = "the browser and " + what
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		start := time.Now()
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			seconds := time.Since(start).Round(time.Second).Seconds()
			err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: token,
				Message:       fmt.Sprintf("waiting for %s, %.0f s", what, seconds),
				Progress:      seconds,
			})
			if err != nil {
				s.log.Debug("progress not sent", "tool", tool, "error", err)
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}
