// Package durations is the fixture of TestDurations. A comment "want" has the finding of its line.
package durations

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chrome-mcp/chrome-mcp/audit"
	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/secrets"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

const limit = 5 * time.Second // want duration 5 * time.Second

const number = 5e9

var limits = []time.Duration{time.Minute} // want duration time.Minute

type result struct {
	timeout, took time.Duration
}

func wait(time.Duration) {}

func TestLiterals(t *testing.T) {
	wait(10*time.Second + 500*time.Millisecond)    // want duration 10 * time.Second + 500 * time.Millisecond
	wait(1500)                                     // want duration 1500
	wait(2 * limit)                                // the declaration is reported
	wait(2 * cdpconn.DefaultCallTimeout)           // a multiple of a timeout of the product
	wait(cdpconn.DefaultCallTimeout - time.Second) // want duration cdpconn.DefaultCallTimeout - time.Second
	wait(0 * time.Second)                          // zero
	wait(2 * limits[0])                            // a factor
	wait(time.Duration(len(limits)) * time.Second) // want duration time.Second
	wait(await.HangLimit)                          // the limit of all tests
	_ = result{timeout: time.Second}               // want duration time.Second
	_ = time.Now().Add(time.Second)                // want duration time.Second
	_ = executor.ActionOptions{Timeout: limits[0]} // not a constant
	_ = limits[0] / time.Millisecond               // a unit
	_ = limits[0].Round(10 * time.Millisecond)     // a unit
	if limits[0] == time.Second {                  // want duration time.Second
		time.Sleep(await.HangLimit) // want time.Sleep
	}
	select {
	case <-t.Context().Done():
	case <-time.After(time.Second): // want duration time.Secondtime.After
	case <-time.After(limit): // want time.After
	case <-time.After(await.HangLimit):
	case <-time.Tick(limits[0]): // want time.Tick
	}
	sleep, since := time.Sleep, time.Since // want time.Sincetime.Sleep
	sleep(number)                          // want duration number
	wait(since(time.Now()))
	wait(2 * number)                                                // want duration 2 * number
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // want duration 10 * time.Second
	defer cancel()
	<-ctx.Done()
}

func TestProduct(t *testing.T) {
	opts := executor.ActionOptions{Timeout: 300 * time.Millisecond}
	opts.Timeout = -time.Duration(len(limits)) * time.Second
	list := []*executor.ActionOptions{{Timeout: 2 * (time.Second)}}
	list[0].Timeout, opts.Timeout = time.Second, time.Hour
	var m secrets.Masker
	m.Add("", false, time.Now().Add(time.Minute))
	var conn cdpconn.Conn
	conn.DelayPopupWindows(time.Second)
	var e audit.Entry
	e.Time = time.Now().Add(-time.Hour)
}

func TestMeasured(t *testing.T) {
	start := time.Now()
	if time.Since(start) > time.Second { // want upper bound
		t.Error("slow")
	}
	if time.Until(start) < -time.Second { // want upper bound
		t.Error("slow")
	}
	took := time.Since(start)
	if took < 2*time.Second || took < limit {
		t.Error("too early")
	}
	switch {
	case time.Second > took:
		t.Fatal("too early")
	case took >= limit: // want upper bound
		t.Fatal("slow")
	}
	if took < limit { // want upper bound
		return
	}
	if took != limit { // want upper bound
		t.Error("not exact")
	}
	for time.Since(start) < limit { // want upper bound
	}
	best := limit
	best = min(best, took)
	if best.Seconds() > 5 { // want upper bound
		t.Error("slow")
	}
	r := result{took: took}
	if r.took > limits[0] { // want upper bound
		t.Error("slow")
	}
	if measure() > 2*measure() { // want upper bound
		t.Error("slow")
	}
}

func TestRatio(t *testing.T) {
	n, took := count()
	ratio := float64(took) / float64(measure())
	if ratio < 8 { // want upper bound
		return
	}
	if n != 1 || len(limits) > 2 {
		t.Error("other numbers")
	}
	for _, d := range limits {
		if end := time.Now(); end.Sub(end.Add(-d)) > limits[0] { // want upper bound
			t.Error("slow")
		}
	}
}

func count() (int, time.Duration) { return 1, measure() }

func measure() time.Duration {
	start := time.Now()
	return time.Since(start)
}

func TestFakeTime(t *testing.T) {
	for _, d := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			fakeTime(d)
			if time.Since(start) > 2*time.Minute {
				t.Error("slow")
			}
		})
	}
}

func bubble(t *testing.T, f func(time.Duration)) {
	synctest.Test(t, func(*testing.T) { f(time.Minute) })
}

func TestBubble(t *testing.T) {
	bubble(t, func(d time.Duration) { time.Sleep(d + time.Second) })
	wait(time.Second) // want duration time.Second
}

// pause is used by fakeTime only.
const pause = time.Second

func fakeTime(d time.Duration) { time.Sleep(d + pause + time.Second) }

// A sleeper is said to be used in synctest only.
type sleeper struct{}

// Close is said to sleep in the fake time of synctest.
func (sleeper) Close() { time.Sleep(time.Second) } // want duration time.Secondtime.Sleep

func (sleeper) Open() { time.Sleep(limit) } // want time.Sleep

func TestDeep(t *testing.T) {
	tier.Deep(t)
	wait(time.Second)
}

func TestDeepCases(t *testing.T) {
	deep := len(limits) > 1
	t.Run("deep", func(t *testing.T) {
		skip(t)
		wait(time.Second)
	})
	t.Run("conditional", func(t *testing.T) {
		if deep {
			tier.Deep(t)
		}
		wait(time.Second) // want duration time.Second
	})
}

func skip(t *testing.T) {
	tier.Deep(t)
}

func TestIfDeep(t *testing.T) {
	start := time.Now()
	if tier.DeepEnabled() && len(limits) > 0 {
		wait(deepLimit)
		wait(time.Second)
	} else {
		wait(time.Second) // want duration time.Second
	}
	if tier.DeepEnabled() || len(limits) > 0 {
		wait(time.Second) // want duration time.Second
	}
	if tier.DeepEnabled() && time.Since(start) > time.Second {
		t.Error("slow")
	}
	var s suite
	s.Deep().run(t, func() { wait(deepLimit + time.Second) })
	run(s.Deep(), func() { wait(deepLimit + time.Second) })
	s.run(t, func() { wait(time.Second) }) // want duration time.Second
}

// deepLimit is used by deep tests only.
const deepLimit = time.Minute

type suite struct{}

func (s suite) Deep() suite { return s }

func run(_ suite, f func()) { f() }

func (suite) run(*testing.T, func()) {}

func BenchmarkWait(b *testing.B) {
	wait(time.Second)
}
