package extension

import (
	"fmt"
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/bridge"
	extfiles "github.com/chrome-mcp/chrome-mcp/extension"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func TestMain(m *testing.M) {
	timing.ScaleForTests(tier.HangLimitScale())
	if data := os.Getenv(nativeEnv); data != "" && len(os.Args) > 1 {
		if err := bridge.ServeNative(data, extfiles.IDs(), os.Args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if data := os.Getenv(serverEnv); data != "" {
		if err := runServerProcess(data, os.Getenv(urlEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(leakcheck.Run(m))
}
