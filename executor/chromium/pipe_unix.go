//go:build !windows

package chromium

import (
	"os"
	"os/exec"
)

// passPipes gives the browser its ends of the pipes. It reads commands from
// file descriptor 3 and writes to 4, where ExtraFiles begins.
func passPipes(cmd *exec.Cmd, p *pipes) error {
	cmd.ExtraFiles = []*os.File{p.browserR, p.browserW}
	return nil
}
