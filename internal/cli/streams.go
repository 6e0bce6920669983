package cli

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// An EOFNotifier calls ended once, when Read first returns an error.
type EOFNotifier struct {
	io.Reader
	Ended func()
}

func (r *EOFNotifier) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && r.Ended != nil {
		r.Ended()
		r.Ended = nil
	}
	return n, err
}

func (r *EOFNotifier) Close() error { return nil }

// ErrCloseTimeout reports that closing did not finish in time.
var ErrCloseTimeout = errors.New("closing timed out")

// RunWithTimeout runs f and returns its error, or ErrCloseTimeout if f does not return within d.
func RunWithTimeout(d time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("%w after %v", ErrCloseTimeout, d)
	}
}
