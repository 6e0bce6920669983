package upload

import (
	"os"
	"syscall"
)

// nonBlocking is not needed: directories have no pipes.
const nonBlocking = 0

// linkCount returns the number of hard links to the file.
func linkCount(f *os.File) (uint64, error) {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err != nil {
		return 0, err
	}
	return uint64(info.NumberOfLinks), nil
}
