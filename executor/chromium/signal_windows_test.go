package chromium

import (
	"errors"
	"os"
	"os/exec"
)

func stopProcess(int) error { return errors.ErrUnsupported }

func forceKill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func terminateProcess(pid int) error { return forceKill(pid) }

func setProcessGroup(*exec.Cmd) {}
