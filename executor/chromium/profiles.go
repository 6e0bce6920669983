package chromium

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// ProfileInfo describes a persistent profile.
type ProfileInfo struct {
	Name     string
	Bytes    int64     // total size of its files
	LastUsed time.Time // when a browser on it last started or exited; zero if unknown
	InUse    bool      // by a running browser
}

// Profiles lists the persistent profiles in a data directory, by name. An empty dataDir means the
// default.
func Profiles(dataDir string) ([]ProfileInfo, error) {
	dataDir, err := dataDirectory(dataDir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(profilesDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []ProfileInfo
	for _, entry := range entries {
		if !entry.IsDir() || !IsProfileName(entry.Name()) {
			continue
		}
		dir := filepath.Join(profilesDir(dataDir), entry.Name())
		info := ProfileInfo{Name: entry.Name(), InUse: profileInUse(dir)}
		if lock, err := os.Stat(filepath.Join(dir, lockName)); err == nil {
			info.LastUsed = lock.ModTime()
		}
		// Files can disappear while their browser runs.
		_ = filepath.WalkDir(dir, func(_ string, file fs.DirEntry, err error) error {
			if err == nil && file.Type().IsRegular() {
				if st, err := file.Info(); err == nil {
					info.Bytes += st.Size()
				}
			}
			return nil
		})
		all = append(all, info)
	}
	return all, nil
}

// profileInUse reports whether a process uses the profile in dir. It does not lock the profile.
func profileInUse(dir string) bool {
	record, _ := readRecord(filepath.Join(dir, lockName))
	return record.Owner.alive() || checkSingleton(dir) != nil
}

// ResetProfile empties a persistent profile. An empty dataDir means the default. It returns
// ErrBadArgs if the profile does not exist, and an error with ErrProfileInUse if a browser uses it.
func ResetProfile(ctx context.Context, dataDir, name string) error {
	return withProfile(ctx, dataDir, name, func(p *profile) error { return p.release(ctx) })
}

// RemoveProfile removes a persistent profile. It returns the errors of ResetProfile.
func RemoveProfile(ctx context.Context, dataDir, name string) error {
	return withProfile(ctx, dataDir, name, func(p *profile) error {
		defer p.unlock()
		removeSocket(socketOf(p.dir))
		if runtime.GOOS == "windows" { // which removes no open file, and so not the lock of another process
			p.unlock()
		}
		if err := os.Remove(filepath.Join(p.dir, lockName)); err != nil {
			return err
		}
		return os.Remove(p.dir)
	})
}

// withProfile locks a profile, removes all files in it except for the lock, and calls finish, which
// releases it.
func withProfile(ctx context.Context, dataDir, name string, finish func(*profile) error) error {
	dataDir, err := dataDirectory(dataDir)
	if err != nil {
		return err
	}
	dir := filepath.Join(profilesDir(dataDir), name)
	if info, err := os.Lstat(dir); !IsProfileName(name) || errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return executor.Errorf(executor.ErrBadArgs, "", "profile %q does not exist", name)
	} else if err != nil {
		return err
	}
	p, err := acquireProfile(ctx, &Options{DataDir: dataDir, Profile: name, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := errors.Join(emptyProfile(dir), finish(p)); err != nil {
		return fmt.Errorf("profile %s: %w", name, err)
	}
	return nil
}

// emptyProfile removes all files in the profile in dir except for the lock.
func emptyProfile(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}
