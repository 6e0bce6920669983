package profiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/lazyregexp"
)

// Info describes a named profile.
type Info struct {
	Name     string
	Bytes    int64     // total size of its files
	LastUsed time.Time // when a browser on it last started or exited; zero if unknown
	InUse    bool      // by a running browser
}

// List lists the named profiles in a data directory, by name. An empty dataDir means the default.
func List(dataDir string) ([]Info, error) {
	dataDir, err := DataDir(dataDir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(namedDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Info
	for _, entry := range entries {
		if !entry.IsDir() || !IsName(entry.Name()) {
			continue
		}
		dir := filepath.Join(namedDir(dataDir), entry.Name())
		info := Info{Name: entry.Name(), InUse: inUse(dir)}
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

// inUse reports whether a process uses the profile in dir. It does not lock the profile.
func inUse(dir string) bool {
	record, _ := readRecord(filepath.Join(dir, lockName))
	return record.Owner.alive() || checkSingleton(dir) != nil
}

// Reset empties a named profile. An empty dataDir means the default. It returns ErrBadArgs if the
// profile does not exist, and an error with ErrInUse if a browser uses it.
func Reset(ctx context.Context, dataDir, name string) error {
	return withProfile(ctx, dataDir, name, func(p *Profile) error { return p.Release(ctx) })
}

// Remove removes a named profile. It returns the errors of Reset.
func Remove(ctx context.Context, dataDir, name string) error {
	return withProfile(ctx, dataDir, name, func(p *Profile) error {
		defer p.unlock()
		removeSocket(socketOf(p.Dir))
		if runtime.GOOS == "windows" { // which removes no open file, and so not the lock of another process
			p.unlock()
		}
		if err := os.Remove(filepath.Join(p.Dir, lockName)); err != nil {
			return err
		}
		return os.Remove(p.Dir)
	})
}

// withProfile locks a profile, removes all files in it except for the lock, and calls finish, which
// releases it.
func withProfile(ctx context.Context, dataDir, name string, finish func(*Profile) error) error {
	dataDir, err := DataDir(dataDir)
	if err != nil {
		return err
	}
	dir := filepath.Join(namedDir(dataDir), name)
	if info, err := os.Lstat(dir); !IsName(name) || errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return executor.Errorf(executor.ErrBadArgs, "", "profile %q does not exist", name)
	} else if err != nil {
		return err
	}
	p, err := Acquire(ctx, dataDir, name, slog.New(slog.DiscardHandler))
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

// validName matches valid profile names. A profile name becomes a directory name on every
// operating system, so it must not contain special characters of any of them.
var validName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`)

// IsName reports whether name can be the name of a profile.
func IsName(name string) bool {
	return validName().MatchString(name) && !strings.HasSuffix(name, ".")
}

// DataDir returns the absolute path of a data directory; empty means the default. Chromium is
// later recognized by the path of the profile in its command line, so the path must not depend on
// the working directory.
func DataDir(dir string) (string, error) {
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", executor.Errorf(executor.ErrBadArgs, "Specify a data directory.", "no home directory: %w", err)
		}
		dir = filepath.Join(home, ".chrome-mcp")
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", executor.Errorf(executor.ErrBadArgs, "", "data directory %q: %w", dir, err)
	}
	return path, nil
}
