package owneronly

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// isReadOnly reports whether a file is on a read-only mount, such as a volume of a
// container. No process there can write to it, regardless of its owner and mode.
func isReadOnly(path string) bool {
	const readOnly = 1 // ST_RDONLY
	var fs syscall.Statfs_t
	return syscall.Statfs(path, &fs) == nil && fs.Flags&readOnly != 0
}

// isUnmapped reports whether a file belongs to users that this user namespace does
// not contain. In a container without root, one of them is root of the machine.
func isUnmapped(uid uint32) bool { return uid == unmapped() }

// unmapped returns the user ID that represents such users. In the initial user
// namespace, which contains all users, it returns the user ID 0.
var unmapped = sync.OnceValue(func() uint32 {
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || strings.Join(strings.Fields(string(ids)), " ") == "0 0 4294967295" {
		return 0
	}
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return 0
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(id)
})
