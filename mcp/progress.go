package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is the interval of the progress notifications of a call. Some hosts reset their
// timeout on progress.
const progressEvery = time.Second

// A waitDescriber is an argument struct that describes what its call waits for.
type waitDescriber interface{ WaitDescription() string }

// startProgress sends progress notifications for a call, if its client requested them. The returned
// function stops them; no notification is sent after it returns.
func (r *toolRunner) startProgress(ctx context.Context, req *sdk.CallToolRequest, tool string, args any) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	what := tool
	if w, ok := args.(waitDescriber); ok {
		what = w.WaitDescription()
	}
	if !r.browserStarted.Load() {
		what = "the browser and " + what
	}
	every := progressEvery
	if _, ok := args.(askUserArgs); ok { // the user needs more time than a page
		every = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		start := time.Now()
		ticker := time.NewTicker(every)
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
				r.opts.Logger.Debug("sending progress failed", "tool", tool, "error", err)
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}
