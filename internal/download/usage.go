package download

import (
	"path/filepath"
	"strings"
	"sync"
)

// A Usage counts files that were saved and files that are being written. It implements
// executor.FileUsage. Its methods are safe for concurrent use. The zero value is an empty Usage that
// counts only in memory.
type Usage struct {
	existing func() Existing // nil if only the memory counts

	mu       sync.Mutex // guards the fields below
	saved    fileCount  // as counted last, and what was saved since
	reserved fileCount
}

// Existing is the disk usage of files, in number and bytes.
type Existing struct {
	Bytes, UnfinishedBytes int64
	Files, UnfinishedFiles int
}

type fileCount struct {
	bytes int64
	files int
}

// NewUsage returns a Usage that counts the files that exist, which may be removed at any time. It calls
// existing, one call at a time, for each Reserve, except one for more bytes of a file that has space.
func NewUsage(existing func() Existing) *Usage { return &Usage{existing: existing} }

// Reserve reserves space for files that are about to be written. It returns false, and reserves
// nothing, if all files together would exceed a limit.
func (u *Usage) Reserve(bytes int64, files int, maxBytes int64, maxFiles int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	fits := func() bool {
		return bytes <= maxBytes-u.saved.bytes-u.reserved.bytes && files <= maxFiles-u.saved.files-u.reserved.files
	}
	if u.existing != nil && (files > 0 || bytes == 0 || !fits()) {
		u.count()
	}
	if !fits() {
		return false
	}
	u.reserved.bytes += bytes
	u.reserved.files += files
	return true
}

// count counts the existing files. The unfinished ones among them are those of the reservations, and of
// programs that were killed. u.mu must be held.
func (u *Usage) count() {
	e := u.existing()
	u.saved.bytes = e.Bytes + max(e.UnfinishedBytes-u.reserved.bytes, 0)
	u.saved.files = e.Files + max(e.UnfinishedFiles-u.reserved.files, 0)
}

// Release ends a reservation. keptBytes and keptFiles are those of it that were saved.
func (u *Usage) Release(bytes int64, files int, keptBytes int64, keptFiles int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reserved.bytes -= bytes
	u.reserved.files -= files
	u.saved.bytes += keptBytes
	u.saved.files += keptFiles
}

// Used returns the total of the files that were saved and of the reservations.
func (u *Usage) Used() (bytes int64, files int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.saved.bytes + u.reserved.bytes, u.saved.files + u.reserved.files
}

// IsUnfinished reports whether the file at path, relative to a [Dir], is one that is being written, or
// that a program left that was killed.
func IsUnfinished(path string) bool {
	dir, name := filepath.Split(filepath.ToSlash(path))
	return strings.HasPrefix(name, partialPrefix) || dir == stagingName+"/"
}
