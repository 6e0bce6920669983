//go:build !linux

package bridge

// identity returns nothing: here the time of a process's start is kept as it
// was, and tells processes with one number apart.
func identity(int) (string, error) { return "", nil }
