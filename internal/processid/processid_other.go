//go:build !linux

package processid

import "strconv"

// Of returns what no other process with this number has.
func Of(pid int) (string, error) {
	started, err := Started(pid)
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(started, 10), nil
}
