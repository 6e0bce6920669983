//go:build unix

package chat

import (
	"os"
	"os/exec"
	"syscall"
)

// A group is the process group of an agent, which is its leader.
type group struct{ leader *os.Process }

// startGroup starts a program in a group. The caller keeps its thread until the program exits.
func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithThread(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd.Process}, nil
}

// kill kills the processes in the group, and the agent, which may have moved to another group.
func (g *group) kill() {
	_ = syscall.Kill(-g.leader.Pid, syscall.SIGKILL)
	_ = g.leader.Kill()
}
