// Package await waits in tests for what another goroutine, process or browser does.
//
// A test states the order of events, and not how long they take: it waits for an event without a limit
// that a slow machine could reach. HangLimit only ends a test that would otherwise hang.
package await

import (
	"context"
	"testing"
	"time"
)

// HangLimit is how long a test waits for something that must happen. A test that reaches it has
// failed. No result of a test depends on its value.
const HangLimit = time.Minute

// Soon is the timeout of a call that ends for no other reason, so that the test expects its expiry.
const Soon = 50 * time.Millisecond

// minPoll and MaxPoll are the times between the first and between later calls of the condition of
// Poll. A condition that takes long to be met must not keep a CPU busy.
const (
	minPoll = 2 * time.Millisecond
	MaxPoll = 50 * time.Millisecond
)

// Context returns a context that is canceled at the end of the test, or after HangLimit.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), HangLimit)
	t.Cleanup(cancel)
	return ctx
}

// Expiring returns a context whose deadline passes after Soon.
func Expiring(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Soon)
	t.Cleanup(cancel)
	return ctx
}

// Poll polls until ok returns true. It returns false after HangLimit. It is for code without a
// testing.TB; tests use Until.
func Poll(ok func() bool) bool {
	deadline := time.Now().Add(HangLimit)
	for pause := minPoll; !ok(); pause = min(2*pause, MaxPoll) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Until polls until ok returns true. It is for states that no event announces. It fails the test with
// what after HangLimit.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !Poll(ok) {
		t.Fatalf("timed out waiting for %s", what)
	}
}

// Receive returns the next value of ch, or the zero value if ch is closed. It fails the test with what
// after HangLimit.
func Receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	limit := time.NewTimer(HangLimit)
	defer limit.Stop()
	select {
	case v := <-ch:
		return v
	case <-limit.C:
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}
