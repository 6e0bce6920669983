// Package processid distinguishes a process from later processes with the same pid.
package processid

import (
	"errors"
	"math"
	"slices"

	ps "github.com/shirou/gopsutil/v4/process"
)

// errEnded is the error of a process that has exited and only waits to be reaped.
var errEnded = errors.New("the process has exited")

// Started returns the time at which a running process started, in milliseconds since 1970.
// On some systems, the result depends on a boot time that is adjusted with the clock.
func Started(pid int) (int64, error) {
	if pid <= 0 || pid > math.MaxInt32 {
		return 0, errors.New("no such process")
	}
	p, err := ps.NewProcess(int32(pid))
	if err != nil {
		return 0, err
	}
	if status, err := p.Status(); err == nil && slices.Contains(status, ps.Zombie) {
		return 0, errEnded
	}
	return p.CreateTime()
}
