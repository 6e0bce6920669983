package await

import (
	"context"
	"sync"
)

// Deadline returns a child of parent whose deadline passes when pass is called: its error is then
// context.DeadlineExceeded. It is for tests in which a deadline passes at a certain point of a call.
func Deadline(parent context.Context) (ctx context.Context, pass func()) {
	d := &deadline{Context: parent, done: make(chan struct{})}
	stop := context.AfterFunc(parent, func() { d.end(parent.Err()) })
	return d, func() { stop(); d.end(context.DeadlineExceeded) }
}

type deadline struct {
	context.Context
	done chan struct{}

	mu  sync.Mutex // guards the field below
	err error
}

func (d *deadline) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
		close(d.done)
	}
}

func (d *deadline) Done() <-chan struct{} { return d.done }

func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
