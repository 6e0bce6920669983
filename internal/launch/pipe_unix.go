//go:build !windows

package launch

import (
	"os"
	"os/exec"
)

// passPipes passes the browser its ends of the pipes. Chromium reads commands from file descriptor
// 3 and writes to 4; 3 is the first descriptor of ExtraFiles.
func passPipes(cmd *exec.Cmd, p *pipes) error {
	cmd.ExtraFiles = []*os.File{p.browserR, p.browserW}
	return nil
}
