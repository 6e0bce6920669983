//go:build unix

package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/bridge"
)

// rotateOnHangup gives the bridge a new token at each SIGHUP, which ends every
// session, until ctx is done. It returns at once; wait is for its end.
func rotateOnHangup(ctx context.Context, server *bridge.Server, log *slog.Logger) (wait func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(hangups)
		for {
			select {
			case <-hangups:
				if err := server.Rotate(); err != nil {
					log.Error("the token could not be changed", "error", err)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-done }
}
