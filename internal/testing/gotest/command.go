// Package gotest runs go test, reads its events, and finds the tests in source files with their tiers.
package gotest

import (
	"context"
	"os/exec"
	"time"
)

// Serial are the packages that only compute and start no goroutine, relative to the module. The race
// detector would find nothing in them, and make their tests several times slower.
var Serial = []string{"internal/archtest", "internal/mutation", "internal/obstacle", "internal/readable"}

// grace is the time that processes have to end after an interrupt.
const grace = 15 * time.Second

// Command returns a command that runs in its own process group. When ctx ends, the group is
// interrupted, and killed if it does not end.
func Command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = grace + time.Second
	ownGroup(cmd)
	return cmd
}
