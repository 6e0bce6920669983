package logflood

import (
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

func TestFlood(t *testing.T) {
	var f flood
	now, end := time.Now(), timing.Current().LogFloodEnd
	want := func(what string, n int, throttle bool) {
		t.Helper()
		if got := f.add(n, now, end); got != throttle {
			t.Errorf("%s: throttle %v", what, got)
		}
	}
	want("a few messages", floodLosses-1, false)
	now = now.Add(2 * end)
	want("a few messages after a pause", floodLosses-1, false)
	want("one more", 1, true)
	want("during the throttling", floodLosses, false)
	f = flood{}
	want("a new flood", floodLosses, true)
}
