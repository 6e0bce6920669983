//go:build !unix

package gotest

import "os/exec"

// ownGroup does nothing: the process is killed when its context ends.
func ownGroup(*exec.Cmd) {}
