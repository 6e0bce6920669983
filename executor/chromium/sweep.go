package chromium

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

// SweepResult is the result of [Sweep].
type SweepResult struct {
	Profiles []string // the removed directories of temporary profiles
	Browsers []int    // the process ids of the terminated orphaned browsers
}

// Sweep removes from a data directory what killed processes left behind: temporary profiles, and
// browsers that run on its profiles. It does not touch what a running process has locked, or
// browsers that this package did not launch. Several processes may sweep the same directory
// concurrently. Each launch sweeps automatically.
//
// It continues after an error, and returns all errors joined.
func Sweep(ctx context.Context, dataDir string) (SweepResult, error) {
	var swept SweepResult
	// As in Options: browsers are recognized by the absolute path.
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return swept, err
	}
	var errs []error
	for _, dir := range subdirectories(temporaryDir(dataDir)) {
		if !strings.HasPrefix(filepath.Base(dir), temporaryPrefix) {
			continue
		}
		removed, err := sweepTemporary(ctx, dir, &swept)
		if removed {
			swept.Profiles = append(swept.Profiles, dir)
		}
		errs = append(errs, err)
	}
	for _, dir := range subdirectories(profilesDir(dataDir)) {
		errs = append(errs, sweepNamed(ctx, dir, &swept))
	}
	return swept, errors.Join(errs...)
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

// sweepTemporary removes the temporary profile in dir if its owner has exited.
func sweepTemporary(ctx context.Context, dir string, swept *SweepResult) (removed bool, err error) {
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
		swept.Browsers = append(swept.Browsers, rec.Browser.PID)
	}
	lock.Close()
	if err != nil {
		return false, err
	}
	// The directory has a random name, so no unrelated process has it in its command line.
	killProfileUsers(ctx, dir, func(int) bool { return true })
	err = removeProfile(ctx, dir)
	return err == nil, err
}

// sweepNamed terminates the orphaned browser on the named profile in dir. It takes the lock only if
// there is such a browser, so that it does not delay a launch.
func sweepNamed(ctx context.Context, dir string, swept *SweepResult) error {
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
		swept.Browsers = append(swept.Browsers, rec.Browser.PID)
	}
	return err
}

// killProfileUsers kills the processes that have the profile in dir in their command line and that
// accept returns true for, and waits until they have stopped writing. A helper process can fork
// while its browser exits and appear late, so killProfileUsers scans until it has found none in
// quietPasses consecutive scans.
func killProfileUsers(ctx context.Context, dir string, accept func(pid int) bool) {
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
		for _, pid := range usersOf(dir) {
			if pid != os.Getpid() && accept(pid) {
				found, killed[pid] = true, true
				_ = killProcess(pid)
			}
		}
		if quiet++; found {
			quiet = 0
		}
		return quiet >= quietPasses
	})
}
