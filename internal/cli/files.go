package cli

import "os"

// Exists reports whether a file or a directory exists.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// SameFile reports whether two paths refer to the same file.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
