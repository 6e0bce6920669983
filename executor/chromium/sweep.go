package chromium

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unlockedAge is how old a temporary profile without a lock file must be
// before it counts as left behind rather than just being made.
const unlockedAge = time.Minute

// Swept tells what [Sweep] cleared away.
type Swept struct {
	Profiles []string // the folders of temporary profiles that were removed
	Browsers []int    // the processes of orphaned browsers that were ended
}

// Sweep clears away what an earlier run that was killed left behind in a data
// folder: temporary profiles, and browsers on profiles in it. Everything that
// a living process holds stays, and so does every browser that was not
// launched by this package. Any number of processes may sweep one folder at a
// time. Each launch sweeps by itself.
//
// It goes on after an error, and returns them joined.
func Sweep(ctx context.Context, dataDir string) (Swept, error) {
	var swept Swept
	// As in Options: browsers are recognised by the absolute path.
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return swept, err
	}
	var errs []error
	for _, dir := range folders(temporaryDir(dataDir)) {
		if !strings.HasPrefix(filepath.Base(dir), temporaryPrefix) {
			continue
		}
		removed, err := sweepTemporary(ctx, dir, &swept)
		if removed {
			swept.Profiles = append(swept.Profiles, dir)
		}
		errs = append(errs, err)
	}
	for _, dir := range folders(profilesDir(dataDir)) {
		errs = append(errs, sweepNamed(ctx, dir, &swept))
	}
	return swept, errors.Join(errs...)
}

// folders lists the real folders in dir: a link may lead anywhere.
func folders(dir string) []string {
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

// sweepTemporary removes the temporary profile in dir when its owner is gone.
func sweepTemporary(ctx context.Context, dir string, swept *Swept) (removed bool, err error) {
	path := filepath.Join(dir, lockName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < unlockedAge {
			return false, nil
		}
	}
	lock, err := lockFile(path)
	if errors.Is(err, errLocked) || errors.Is(err, fs.ErrNotExist) {
		return false, nil // in use, or another sweep was quicker
	}
	if err != nil {
		return false, err
	}
	rec, _ := readRecord(path)
	if rec.Owner.alive() && rec.Owner.PID != os.Getpid() {
		lock.Close()
		return false, nil
	}
	ended, err := endOrphan(ctx, rec.Browser, dir)
	if ended {
		swept.Browsers = append(swept.Browsers, rec.Browser.PID)
	}
	lock.Close()
	if err != nil {
		return false, err
	}
	// The folder's random name is in no one else's command line.
	endUsers(ctx, dir, func(int) bool { return true })
	err = removeProfile(ctx, dir)
	return err == nil, err
}

// sweepNamed ends the browser that was orphaned on the named profile in dir.
// It takes the lock only when there is one, so as not to be in the way of a
// start.
func sweepNamed(ctx context.Context, dir string, swept *Swept) error {
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
	ended, err := endOrphan(ctx, rec.Browser, dir)
	if ended {
		swept.Browsers = append(swept.Browsers, rec.Browser.PID)
	}
	return err
}

// endUsers kills the processes that have the profile in dir in their command
// line and that mine accepts, and waits until they write no more. A helper can
// fork just as its browser dies and show up late, so it looks until it has found
// none a few times in a row.
func endUsers(ctx context.Context, dir string, mine func(pid int) bool) {
	const (
		quietPasses = 2
		pause       = 10 * time.Millisecond
		limit       = 2 * time.Second
	)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	quiet := 0
	killed := map[int]bool{}
	poll(ctx, pause, func() bool {
		found := false
		for pid := range killed { // which have no command line any more
			found = found || works(pid)
		}
		for _, pid := range usersOf(dir) {
			if pid != os.Getpid() && mine(pid) {
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
