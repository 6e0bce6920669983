package keylimit

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[string](2)
		for n := range 3 {
			if got, want := l.TryAcquire("a"), n < 2; got != want {
				t.Errorf("acquired use %d: %t", n+1, got)
			}
		}
		if !l.TryAcquire("b") {
			t.Error("one key limits another")
		}
		got := make(chan error, 1)
		go func() { got <- l.Acquire(t.Context(), "a") }()
		synctest.Wait()
		select {
		case err := <-got:
			t.Errorf("acquired beyond the limit: %v", err)
		default:
		}
		l.Release("a")
		if err := <-got; err != nil {
			t.Error(err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Acquire(canceled, "a"); err == nil {
			t.Error("acquired beyond the limit, after cancellation")
		}
		for _, k := range []string{"a", "a", "b"} {
			l.Release(k)
		}
		if n := len(l.keys); n != 0 {
			t.Errorf("%d keys remain", n)
		}
	})
}
