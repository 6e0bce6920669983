package compose

import (
	"context"
	"log/slog"

	"github.com/chrome-mcp/chrome-mcp/bridge"
)

// rotateOnHangup does nothing: Windows has no SIGHUP.
func rotateOnHangup(context.Context, *bridge.Server, *slog.Logger) (wait func()) { return func() {} }
