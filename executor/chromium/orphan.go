package chromium

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
)

// A processID names one process for good. The number alone is given again to
// another process sooner or later; together with the time it started at it is
// not.
type processID struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // opaque; equal for the same process only
}

// identify returns the identity of the running process pid.
func identify(pid int) (processID, error) {
	start, err := processid.Of(pid)
	if err != nil {
		return processID{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return processID{PID: pid, Start: start}, nil
}

// alive reports whether the very same process still runs.
func (id processID) alive() bool {
	if id.PID <= 0 || id.Start == "" {
		return false
	}
	start, err := processid.Of(id.PID)
	return err == nil && start == id.Start
}

// usesProfile reports whether the process is a browser on the profile in dir,
// by its command line.
func usesProfile(pid int, dir string) bool {
	args, err := commandLine(pid)
	return err == nil && slices.Contains(args, "--user-data-dir="+dir)
}

// orphanGrace is how long an orphaned browser has to save its profile. One
// that was orphaned and still runs has usually hung, so it is not long.
const orphanGrace = 2 * time.Second

// endOrphan ends the browser of an earlier run, if it still runs on the
// profile in dir. It is only sure of that, and only then does anything, when
// number, start time and profile are those of the record.
func endOrphan(ctx context.Context, id processID, dir string) (ended bool, err error) {
	if !id.alive() || !usesProfile(id.PID, dir) {
		return false, nil
	}
	defer func() {
		if ended {
			removeSocket(socketOf(dir))
		}
	}()
	if err := askToEnd(id.PID); err == nil && waitGone(ctx, id, orphanGrace) {
		return true, nil
	}
	if !id.alive() {
		return true, nil
	}
	if err := killProcess(id.PID); err != nil && id.alive() {
		return false, fmt.Errorf("ending the browser with process %d that an earlier run left behind: %w", id.PID, err)
	}
	if !waitGone(ctx, id, orphanGrace) {
		return false, fmt.Errorf("the browser with process %d that an earlier run left behind does not end", id.PID)
	}
	return true, nil
}

// waitGone waits until the process is gone; false when it is not in time.
func waitGone(ctx context.Context, id processID, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return poll(ctx, 10*time.Millisecond, func() bool { return !id.alive() })
}

// poll calls done every pause until it is true or ctx ends. It is for what
// the operating system gives no event for: the end of a process that is not
// our child, the lock of another process, files still open.
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
