package profiles

import (
	"os"
	"sync"
)

// locked are the paths of the lock files that this process has locked. They are stored because some file
// systems have no locks.
var locked = struct {
	mu    sync.Mutex // guards paths
	paths map[string]*fileLock
}{paths: make(map[string]*fileLock)}

// A fileLock is an open file that this process has locked.
type fileLock struct {
	*os.File
	path string
}

// lockFile opens the file at path, creates it if necessary, and locks it without waiting. It returns
// errLocked if this process or another one has the lock. The lock is released when the file is closed or
// this process exits; child processes do not inherit it.
func lockFile(path string) (*fileLock, error) {
	locked.mu.Lock()
	defer locked.mu.Unlock()
	if locked.paths[path] != nil {
		return nil, errLocked
	}
	f, err := lockInSystem(path)
	if err != nil {
		return nil, err
	}
	l := &fileLock{f, path}
	locked.paths[path] = l
	return l, nil
}

// Close closes the file and releases the lock.
func (l *fileLock) Close() error {
	locked.mu.Lock()
	defer locked.mu.Unlock()
	if locked.paths[l.path] == l { // not after an earlier Close
		delete(locked.paths, l.path)
	}
	return l.File.Close()
}
