package launch

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
)

// passPipes passes the browser its ends of the pipes. The browser inherits the two handles, which
// have the same values there, and receives the values in a switch.
//
// os.Pipe makes all ends inheritable, so our ends are made non-inheritable first. Otherwise another
// program that is started concurrently would keep the browser's pipe open.
func passPipes(cmd *exec.Cmd, p *pipes) error {
	for _, f := range []*os.File{p.r, p.w} {
		if err := syscall.SetHandleInformation(syscall.Handle(f.Fd()), syscall.HANDLE_FLAG_INHERIT, 0); err != nil {
			return fmt.Errorf("making our end of a pipe non-inheritable: %w", err)
		}
	}
	in, out := syscall.Handle(p.browserR.Fd()), syscall.Handle(p.browserW.Fd())
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, in, out)
	cmd.Args = slices.Insert(cmd.Args, 1, "--remote-debugging-io-pipes="+
		strconv.FormatUint(uint64(in), 10)+","+strconv.FormatUint(uint64(out), 10))
	return nil
}
