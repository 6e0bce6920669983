// Package filelock locks files against other processes.
package filelock

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// checkInterval is the interval at which Lock calls check.
const checkInterval = 20 * time.Millisecond

// Lock waits for the lock of the file at path until ctx is done or check returns an error. It calls
// check regularly; nil means no check. The lock ends when unlock is called, or with the process.
func Lock(ctx context.Context, path string, check func() error) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}
	locked := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		locked <- result{unlock, err}
	}()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for err == nil {
		select {
		case r := <-locked:
			return r.unlock, r.err
		case <-tick.C:
			if check != nil {
				err = check()
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	go func() {
		if r := <-locked; r.err == nil { // the other process has released it
			r.unlock()
		}
	}()
	return nil, err
}
