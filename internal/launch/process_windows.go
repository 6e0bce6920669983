package launch

import (
	"os/exec"
	"syscall"

	"github.com/chrome-mcp/chrome-mcp/internal/profiles"
)

// ownProcess starts the browser in a separate process group. Ctrl-C in a console then reaches only
// us, and we close the browser in order. If this process is killed, the browser exits because its
// pipe is closed.
func ownProcess(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killTree kills the browser and its children.
func killTree(pid int) { _ = profiles.KillProcess(pid) }
