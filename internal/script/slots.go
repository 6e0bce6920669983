package script

import (
	"context"

	"github.com/chrome-mcp/chrome-mcp/internal/keylimit"
)

const (
	// maxComputing is the maximum number of scripts of one principal that compute at the same time.
	// Each may use one CPU. A script that waits for a call does not compute.
	maxComputing = 4
	// maxEngines is the maximum number of scripts of one principal. Each has an engine process, which
	// may use its memory limit.
	maxEngines = 16
)

// The slots of the scripts, by principal.
var (
	engines   = keylimit.New[string](maxEngines)
	computing = keylimit.New[string](maxComputing)
)

// A slot is that of one running script. A nil slot has no limit. Only one goroutine may use it.
type slot struct {
	principal string
	paused    bool // the script does not compute
}

// newSlot returns a slot for a script that is about to compute, or nil if the principal has too many.
func newSlot(principal string) *slot {
	if !engines.TryAcquire(principal) {
		return nil
	}
	if !computing.TryAcquire(principal) {
		engines.Release(principal)
		return nil
	}
	return &slot{principal: principal}
}

// pause is called when the script waits for a call.
func (s *slot) pause() {
	if s != nil {
		computing.Release(s.principal)
		s.paused = true
	}
}

// resume waits until the script may compute again. It returns the cause of ctx if ctx is done first.
func (s *slot) resume(ctx context.Context) error {
	if s == nil {
		return nil
	}
	err := computing.Acquire(ctx, s.principal)
	s.paused = err != nil
	return err
}

// release ends the use of the slot.
func (s *slot) release() {
	if !s.paused {
		computing.Release(s.principal)
	}
	engines.Release(s.principal)
}
