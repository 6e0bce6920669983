// Package profiles manages the profile directories of the browsers that this program launches: it
// locks them, sets preferences in them, and removes what killed processes left behind.
package profiles

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/timing"
)

const (
	// lockName is the file in each profile directory that identifies the process that uses the
	// profile.
	lockName = "chrome-mcp.lock"
	// temporaryPrefix is the prefix of the names of temporary profiles.
	temporaryPrefix = "profile-"
	// maxRecord bounds the bytes read from a lock file.
	maxRecord = 4 << 10
	// dataHint is the hint for a profile directory that cannot be used.
	dataHint = "Choose another data directory with Options.DataDir, or make this one writable."
)

// A Profile is a profile directory that this process has locked. The operating system's lock on its
// lock file excludes all other processes. It is released when the process exits for any reason.
type Profile struct {
	Dir       string
	Temporary bool
	Kept      bool // for another browser of this process; Release does not remove it
	lock      *fileLock
	record    lockRecord
	socket    string // socket path of a browser that was asked to exit
}

// A lockRecord is the content of the lock file: the process that locked the profile, and the
// browser that runs on it. It outlives its writer, so that the next launch can recognize an
// orphaned browser.
type lockRecord struct {
	Owner   processID `json:"owner"`
	Browser processID `json:"browser,omitzero"`
}

func namedDir(dataDir string) string     { return filepath.Join(dataDir, "profiles") }
func temporaryDir(dataDir string) string { return filepath.Join(dataDir, "tmp") }

// Acquire locks a named profile. It creates the directory if necessary. It returns ErrLaunchFailed,
// with the process id, if another browser uses the profile.
func Acquire(ctx context.Context, dataDir, name string, log *slog.Logger) (*Profile, error) {
	dir := filepath.Join(namedDir(dataDir), name)
	if err := makePrivate(dataDir, dir); err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, dataHint, "profile directory %s: %w", dir, err)
	}
	p, err := lockProfile(ctx, dir)
	if err != nil {
		return nil, err
	}
	ended, err := terminateOrphan(ctx, p.record.Browser, dir)
	if err == nil && ended {
		log.Info("terminated an orphaned browser", "pid", p.record.Browser.PID, "profile", dir)
	}
	if err == nil {
		err = checkSingleton(dir)
	}
	if err == nil {
		err = p.writeLockRecord(processID{})
	}
	if err != nil {
		p.unlock()
		return nil, asLaunchFailed(err)
	}
	return p, nil
}

// NewTemporary creates and locks a temporary profile, in a directory that no other process uses. A sweep of another process
// may remove the directory before it is locked. In that case it creates another one.
func NewTemporary(dataDir string) (*Profile, error) {
	parent := temporaryDir(dataDir)
	if err := makePrivate(dataDir, parent); err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, dataHint, "temporary profiles: %w", err)
	}
	var err error
	for range 5 {
		var dir string
		if dir, err = os.MkdirTemp(parent, temporaryPrefix); err != nil {
			break
		}
		p := &Profile{Dir: dir, Temporary: true}
		if p.lock, err = lockFile(filepath.Join(dir, lockName)); err != nil {
			_ = os.Remove(dir) // empty on a full disk; otherwise a sweep removes it
			continue
		}
		if err = p.writeLockRecord(processID{}); err != nil {
			p.Release(context.Background())
			continue
		}
		return p, nil
	}
	return nil, executor.Errorf(executor.ErrLaunchFailed, dataHint, "temporary profile: %w", err)
}

// errLocked is returned by lockFile when this process or another one has the lock.
var errLocked = errors.New("already locked")

// lockProfile locks the profile in dir and reads the record of the last owner.
func lockProfile(ctx context.Context, dir string) (*Profile, error) {
	ctx, cancel := context.WithTimeout(ctx, timing.Current().ProfileLock)
	defer cancel()
	p := &Profile{Dir: dir}
	path := filepath.Join(dir, lockName)
	var err error
	var owner processID
	poll(ctx, 20*time.Millisecond, func() bool {
		if p.lock, err = lockFile(path); !errors.Is(err, errLocked) {
			return true
		}
		current, _ := readRecord(path)
		owner = current.Owner
		return owner.alive()
	})
	if errors.Is(err, errLocked) {
		return nil, InUseError(dir, owner.PID)
	}
	if err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, dataHint, "profile lock: %w", err)
	}
	p.record, err = readRecord(path)
	if err != nil {
		// We did not write this file, so there is no orphan to terminate.
		p.record = lockRecord{}
	}
	// Some file systems have no locks. There, only the record shows the owner.
	if o := p.record.Owner; o.PID != os.Getpid() && o.alive() {
		p.unlock()
		return nil, InUseError(dir, o.PID)
	}
	return p, nil
}

// SetBrowser records that the process pid is the browser on the profile.
func (p *Profile) SetBrowser(pid int) error {
	id, err := identify(pid)
	if err != nil {
		return err
	}
	return p.writeLockRecord(id)
}

// writeLockRecord writes the record: this process, and the browser that it started.
func (p *Profile) writeLockRecord(browser processID) error {
	owner, err := identify(os.Getpid())
	if err != nil {
		return err
	}
	p.record = lockRecord{Owner: owner, Browser: browser}
	b, err := json.Marshal(p.record)
	if err != nil {
		return err
	}
	return p.overwrite(append(b, '\n'))
}

// overwrite replaces the contents of the lock file. It writes before it truncates. A concurrent
// reader sees the new record and, at worst, the end of the old one, which a JSON decoder ignores.
func (p *Profile) overwrite(b []byte) error {
	if _, err := p.lock.WriteAt(b, 0); err != nil {
		return fmt.Errorf("profile lock: %w", err)
	}
	if err := p.lock.Truncate(int64(len(b))); err != nil {
		return fmt.Errorf("profile lock: %w", err)
	}
	return nil
}

// unlock releases the profile without changing it.
func (p *Profile) unlock() { _ = p.lock.Close() }

// BeforeExit is called before the browser exits: Chromium then removes the link to its singleton socket
// before the socket.
func (p *Profile) BeforeExit() { p.socket = socketOf(p.Dir) }

// Release releases the profile after its browser has exited. It removes a temporary profile, unless it
// is kept, and clears the record of a named profile.
func (p *Profile) Release(ctx context.Context) error {
	removeSocket(cmp.Or(p.socket, socketOf(p.Dir)))
	if p.Kept {
		p.socket = ""
		return p.writeLockRecord(processID{})
	}
	if !p.Temporary {
		err := p.overwrite(nil)
		return errors.Join(err, p.lock.Close())
	}
	p.unlock() // first, because Windows does not remove open files
	return removeProfile(ctx, p.Dir)
}

// removeProfile removes the directory of a temporary profile.
func removeProfile(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, timing.Current().RemoveProfile)
	defer cancel()
	var err error
	poll(ctx, 20*time.Millisecond, func() bool {
		err = os.RemoveAll(dir)
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("temporary profile: %w", err)
	}
	return nil
}

// socketOf returns the path of the singleton socket of the browser on the profile in dir, or "" if
// the profile has no link to it: Chromium removes the link first when it exits.
func socketOf(dir string) string {
	socket, _ := os.Readlink(filepath.Join(dir, "SingletonSocket"))
	return socket
}

// removeSocket removes the singleton socket that a killed Chromium left behind, and its directory
// in the system's temporary directory. It only removes a directory of the known form, if no process
// listens on the socket and the directory contains nothing else.
func removeSocket(socket string) {
	dir := filepath.Dir(socket)
	base := strings.TrimPrefix(filepath.Base(dir), ".")
	if !filepath.IsAbs(socket) || filepath.Base(socket) != "SingletonSocket" ||
		!(strings.HasPrefix(base, "org.chromium.") || strings.HasPrefix(base, "com.")) {
		return
	}
	// The threads of a killed process may keep its socket open slightly longer than the process
	// counts as alive.
	ctx, cancel := context.WithTimeout(context.Background(), timing.Current().ProfileSocket)
	defer cancel()
	if !poll(ctx, 5*time.Millisecond, func() bool { return !listens(socket) }) {
		return
	}
	_ = os.Remove(socket)
	_ = os.Remove(filepath.Join(dir, "SingletonCookie"))
	_ = os.Remove(dir)
}

// listens reports whether a process accepts connections at a Unix socket.
func listens(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func readRecord(path string) (lockRecord, error) {
	f, err := os.Open(path)
	if err != nil {
		return lockRecord{}, err
	}
	defer f.Close()
	var r lockRecord
	err = json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&r)
	return r, err
}

// makePrivate creates dir in the data directory, such that other users can neither read, write nor
// replace it: it contains cookies and logins.
func makePrivate(dataDir, dir string) error {
	if err := owneronly.MakeDir(dataDir); err != nil {
		return fmt.Errorf("data directory %s: %w", dataDir, err)
	}
	return owneronly.MakePrivateDir(dir)
}

// Singleton returns the host and process id in Chromium's own lock of the profile in dir. ok is
// false if there is no lock.
func Singleton(dir string) (host string, pid int, ok bool) {
	target, err := os.Readlink(filepath.Join(dir, "SingletonLock"))
	i := strings.LastIndexByte(target, '-')
	if err != nil || i < 0 {
		return "", 0, false
	}
	_, err = fmt.Sscanf(target[i+1:], "%d", &pid)
	return target[:i], pid, err == nil
}

// checkSingleton returns ErrLaunchFailed if Chromium's own lock shows that another browser uses the
// profile. A second Chromium would make the first one open a window, and exit.
func checkSingleton(dir string) error {
	host, pid, ok := Singleton(dir)
	if !ok {
		return nil
	}
	own, err := os.Hostname()
	if err != nil {
		return nil
	}
	if host != own {
		return OtherHostError(dir, host, pid)
	}
	if Uses(pid, dir) {
		return InUseError(dir, pid)
	}
	removeSocket(socketOf(dir)) // its owner has exited; Chromium itself replaces the lock
	return nil
}

// ErrInUse is in the chain of the ErrLaunchFailed for a profile that another process uses.
var ErrInUse = errors.New("is in use")

// InUseError returns the error for a profile that a process uses. pid is 0 if the process is unknown.
func InUseError(dir string, pid int) error {
	by := "another browser"
	if pid > 0 {
		by = fmt.Sprintf("process %d", pid)
	}
	return executor.Errorf(executor.ErrLaunchFailed, "Use Options.Isolated or another Options.Profile, or end that process.",
		"profile %s %w by %s", dir, ErrInUse, by)
}

// OtherHostError returns the error for a profile that a browser on another machine has locked.
func OtherHostError(dir, host string, pid int) error {
	return executor.Errorf(executor.ErrLaunchFailed,
		fmt.Sprintf("If no browser on %s still uses it, delete %s.", host, filepath.Join(dir, "SingletonLock")),
		"profile %s is locked by process %d on another machine, %s", dir, pid, host)
}

// asLaunchFailed returns err with the code ErrLaunchFailed unless it has a code.
func asLaunchFailed(err error) error {
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return e
	}
	return executor.Errorf(executor.ErrLaunchFailed, dataHint, "%w", err)
}
