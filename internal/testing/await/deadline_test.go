package await

import (
	"context"
	"testing"
)

func TestDeadline(t *testing.T) {
	for want, end := range map[error]func(pass, cancel func()){
		context.DeadlineExceeded: func(pass, _ func()) { pass() },
		context.Canceled:         func(_, cancel func()) { cancel() },
	} {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		ctx, pass := Deadline(parent)
		child, stop := context.WithCancel(ctx)
		defer stop()
		if ctx.Err() != nil || child.Err() != nil {
			t.Fatalf("before the end: %v, %v", ctx.Err(), child.Err())
		}
		end(pass, cancel)
		Receive(t, "the end of a context", child.Done())
		if child.Err() != want || context.Cause(child) != want || ctx.Err() != want {
			t.Errorf("%v, with cause %v, below %v; want %v", child.Err(), context.Cause(child), ctx.Err(), want)
		}
		pass()
		if ctx.Err() != want {
			t.Errorf("the error changed to %v", ctx.Err())
		}
	}
}
