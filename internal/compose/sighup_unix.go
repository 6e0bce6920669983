//go:build unix

package compose

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/bridge"
)

// rotateOnHangup gives the bridge a new token on each SIGHUP, which closes all bridge connections,
// until ctx is done. It returns immediately; wait blocks until it has stopped. It must be called
// before the bridge starts, because a program that has read the handshake file may send a SIGHUP,
// and without a handler the signal terminates this process.
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
					log.Error("rotating the bridge token failed", "error", err)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-done }
}
