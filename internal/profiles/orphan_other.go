//go:build !linux

package profiles

import (
	"context"
	"errors"
	"math"

	ps "github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// findProcess returns the process with the given id.
func findProcess(pid int) (*ps.Process, error) {
	if pid <= 0 || pid > math.MaxInt32 {
		return nil, errors.New("no such process")
	}
	return ps.NewProcess(int32(pid))
}

// commandLine returns the arguments of a process.
func commandLine(pid int) ([]string, error) {
	p, err := findProcess(pid)
	if err != nil {
		return nil, err
	}
	return p.CmdlineSlice()
}

// Users lists the processes that have the profile in dir in their command line.
func Users(dir string) []int {
	all, err := ps.Pids()
	if err != nil {
		return nil
	}
	var pids []int
	for _, pid := range all {
		if Uses(int(pid), dir) {
			pids = append(pids, int(pid))
		}
	}
	return pids
}

// isRunning reports whether a process is still running.
func isRunning(pid int) bool {
	_, err := processid.Of(pid)
	return err == nil
}

// terminate requests a process to exit.
func terminate(pid int) error {
	p, err := findProcess(pid)
	if err != nil {
		return err
	}
	return p.Terminate()
}

// KillProcess kills a process and its children immediately.
func KillProcess(pid int) error {
	p, err := findProcess(pid)
	if err != nil {
		return err
	}
	children, _ := p.Children()
	err = p.Kill()
	for _, c := range children {
		_ = KillProcess(int(c.Pid))
	}
	return err
}

// EndHelpers kills the helper processes that outlived the browser on a temporary profile: Windows
// cannot remove a file that a process has open. On a named profile they exit automatically after
// their browser.
func (p *Profile) EndHelpers(int) {
	if !p.Temporary {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timing.Current().RemoveProfile)
	defer cancel()
	killUsers(ctx, p.Dir, func(int) bool { return true })
}
