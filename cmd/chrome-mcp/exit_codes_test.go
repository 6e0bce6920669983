package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// TestExitCodes checks the codes that docs/cli.md lists.
func TestExitCodes(t *testing.T) {
	want := map[int]string{
		exitFailed:        "NAVIGATION_FAILED EVAL_FAILED DETACHED DEVTOOLS_OPEN DOWNLOAD_FAILED UNKNOWN_METHOD CDP_ERROR INTERNAL",
		exitBadArgs:       "BAD_ARGS",
		exitDenied:        "POLICY_DENIED CONSENT_REQUIRED",
		exitNotFound:      "TAB_NOT_FOUND STALE_TAB TARGET_GONE SESSION_ENDED SELECTOR_NOT_FOUND REF_EXPIRED",
		exitNotActionable: "NOT_ACTIONABLE DIALOG_OPEN",
		exitTimeout:       "TIMEOUT",
		exitLimit:         "BACKPRESSURE",
		exitNoBrowser:     "NO_BACKEND EXTENSION_DISCONNECTED LAUNCH_FAILED",
	}
	for _, code := range executor.Codes() {
		if got := exitCode(code); !slices.Contains(strings.Fields(want[got]), string(code)) {
			t.Errorf("%s has the exit code %d", code, got)
		}
	}
}
