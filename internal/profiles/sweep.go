package profiles

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

// unownedAge is the minimum age of a temporary profile without a lock record that counts as
// abandoned. A newer one may still be in creation: its owner may be about to lock it.
const unownedAge = time.Minute

// Sweep removes from a data directory what killed processes left behind: temporary profiles, and
// browsers that run on its profiles. It does not touch what a running process has locked, or
// browsers of other programs. Several processes may sweep the same directory
// concurrently.
//
// It continues after an error, and returns all errors joined. removed are the directories of the
// temporary profiles, terminated the process ids of the browsers.
func Sweep(ctx context.Context, dataDir string) (removed []string, terminated []int, err error) {
	// As in DataDir: browsers are recognized by the absolute path.
	if dataDir, err = filepath.Abs(dataDir); err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, dir := range subdirectories(temporaryDir(dataDir)) {
		if !strings.HasPrefix(filepath.Base(dir), temporaryPrefix) {
			continue
		}
		gone, err := sweepTemporary(ctx, dir, &terminated)
		if gone {
			removed = append(removed, dir)
		}
		errs = append(errs, err)
	}
	for _, dir := range subdirectories(namedDir(dataDir)) {
		errs = append(errs, sweepNamed(ctx, dir, &terminated))
	}
	return removed, terminated, errors.Join(errs...)
}

// subdirectories lists the directories in dir. It skips links, which may refer to any directory.
func subdirectories(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found
}

// sweepTemporary removes the temporary profile in dir if its owner has exited. It adds the process id
// of a browser that it terminated to terminated.
func sweepTemporary(ctx context.Context, dir string, terminated *[]int) (removed bool, err error) {
	path := filepath.Join(dir, lockName)
	if _, err := readRecord(path); err != nil {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < unownedAge {
			return false, nil
		}
	}
	lock, err := lockFile(path)
	if errors.Is(err, errLocked) || errors.Is(err, fs.ErrNotExist) {
		return false, nil // in use, or removed by another sweep
	}
	if err != nil {
		return false, err
	}
	rec, _ := readRecord(path)
	if rec.Owner.alive() && rec.Owner.PID != os.Getpid() {
		lock.Close()
		return false, nil
	}
	ended, err := terminateOrphan(ctx, rec.Browser, dir)
	if ended {
		*terminated = append(*terminated, rec.Browser.PID)
	}
	lock.Close()
	if err != nil {
		return false, err
	}
	// The directory has a random name, so no unrelated process has it in its command line.
	KillUsers(ctx, dir)
	err = removeProfile(ctx, dir)
	return err == nil, err
}

// sweepNamed terminates the orphaned browser on the named profile in dir. It takes the lock only if
// there is such a browser, so that it does not delay a launch.
func sweepNamed(ctx context.Context, dir string, terminated *[]int) error {
	path := filepath.Join(dir, lockName)
	rec, err := readRecord(path)
	if err != nil || rec.Owner.alive() || !rec.Browser.alive() {
		return nil
	}
	lock, err := lockFile(path)
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if rec, err = readRecord(path); err != nil || rec.Owner.alive() {
		return nil
	}
	ended, err := terminateOrphan(ctx, rec.Browser, dir)
	if ended {
		*terminated = append(*terminated, rec.Browser.PID)
	}
	return err
}

// KillUsers kills the processes that have the profile in dir in their command line, and removes the
// singleton socket that they leave behind.
func KillUsers(ctx context.Context, dir string) {
	killUsers(ctx, dir, func(int) bool { return true })
	removeSocket(socketOf(dir))
}

// killUsers kills the processes that have the profile in dir in their command line and that
// accept returns true for, and waits until they have stopped writing. A helper process can fork
// while its browser exits and appear late, so killUsers scans until it has found none in
// quietPasses consecutive scans.
func killUsers(ctx context.Context, dir string, accept func(pid int) bool) {
	const (
		quietPasses = 2
		pause       = 10 * time.Millisecond
	)
	ctx, cancel := context.WithTimeout(ctx, timing.Current().HelperExit)
	defer cancel()
	quiet := 0
	killed := map[int]bool{}
	poll(ctx, pause, func() bool {
		found := false
		for pid := range killed { // they no longer have a command line
			found = found || isRunning(pid)
		}
		for _, pid := range Users(dir) {
			if pid != os.Getpid() && accept(pid) {
				found, killed[pid] = true, true
				_ = KillProcess(pid)
			}
		}
		if quiet++; found {
			quiet = 0
		}
		return quiet >= quietPasses
	})
}
