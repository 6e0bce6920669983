package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/leakcheck"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// childEnv makes the test binary a program that launches or attaches to a browser and waits to be
// killed. Its value is the options as JSON.
const childEnv = "CHROMIUM_TEST_LAUNCH"

// TestMain fails if the tests leak a goroutine, a browser or a temporary profile.
func TestMain(m *testing.M) {
	timing.ScaleForTests(tier.HangLimitScale())
	if spec := os.Getenv(childEnv); spec != "" {
		launchAndWait(spec)
		return
	}
	os.Exit(leakcheck.RunBrowsers(m))
}

// launched is what the child prints when its browser has responded.
type launched struct {
	PID int
	Dir string
}

func launchAndWait(spec string) {
	var o Options
	if err := json.Unmarshal([]byte(spec), &o); err != nil {
		panic(err)
	}
	if o.CDPEndpoint != "" {
		b, err := New(&o)
		if err == nil {
			_, err = sessionProvider{b}.Acquire(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		json.NewEncoder(os.Stdout).Encode(launched{})
		select {}
	}
	p, err := launchBrowser(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(launched{PID: p.PID, Dir: p.Profile.Dir})
	select {}
}
