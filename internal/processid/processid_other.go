//go:build !linux

package processid

import "strconv"

// Of returns a value that identifies the process among all processes that ever have this pid.
func Of(pid int) (string, error) {
	started, err := Started(pid)
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(started, 10), nil
}
