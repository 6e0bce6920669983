package profiles

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// A processID permanently identifies one process. The operating system reuses process ids, but not
// together with the same start time.
type processID struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // opaque; equal only for the same process
}

// identify returns the identity of the running process pid.
func identify(pid int) (processID, error) {
	start, err := processid.Of(pid)
	if err != nil {
		return processID{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return processID{PID: pid, Start: start}, nil
}

// alive reports whether the same process is still running.
func (id processID) alive() bool {
	if id.PID <= 0 || id.Start == "" {
		return false
	}
	start, err := processid.Of(id.PID)
	return err == nil && start == id.Start
}

// Uses reports whether the command line of a process has the profile in dir.
func Uses(pid int, dir string) bool {
	args, err := commandLine(pid)
	return err == nil && slices.Contains(args, "--user-data-dir="+dir)
}

// terminateOrphan terminates the browser of an earlier run, if it is still running on the profile
// in dir. It does nothing unless process id, start time and profile equal those of the lock record.
func terminateOrphan(ctx context.Context, id processID, dir string) (ended bool, err error) {
	if !id.alive() || !Uses(id.PID, dir) {
		return false, nil
	}
	defer func() {
		if ended {
			removeSocket(socketOf(dir))
		}
	}()
	if err := terminate(id.PID); err == nil && waitGone(ctx, id, timing.Current().OrphanExit) {
		return true, nil
	}
	if !id.alive() {
		return true, nil
	}
	if err := KillProcess(id.PID); err != nil && id.alive() {
		return false, fmt.Errorf("killing orphaned browser with process id %d: %w", id.PID, err)
	}
	if !waitGone(ctx, id, timing.Current().OrphanExit) {
		return false, fmt.Errorf("orphaned browser with process id %d does not exit", id.PID)
	}
	return true, nil
}

// waitGone waits until the process has exited. It returns false on timeout.
func waitGone(ctx context.Context, id processID, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return poll(ctx, 10*time.Millisecond, func() bool { return !id.alive() })
}

// poll calls done at intervals of pause until it returns true or ctx is done. It is for conditions
// for which the operating system sends no event: the exit of a process that is not our child, the
// lock of another process, open files.
func poll(ctx context.Context, pause time.Duration, done func() bool) bool {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return done()
		}
	}
	return true
}
