package chromium

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const (
	// lockName is the file in each profile folder that says who uses it.
	lockName = "chrome-mcp.lock"
	// temporaryPrefix begins the name of each temporary profile.
	temporaryPrefix = "profile-"
	// maxRecord bounds what is read of a lock file.
	maxRecord = 4 << 10
	// dataHint is what to do when a profile folder cannot be used.
	dataHint = "Choose another data folder with --data, or see that this one can be written and has room."
)

// A profile is a profile folder that this process holds. While it does, the
// operating system's lock on its lock file keeps every other process out; the
// lock goes when the process goes, however it ends.
type profile struct {
	dir       string
	temporary bool
	lock      *os.File
	record    record
	socket    string // where the browser's is, once it was asked to end
}

// A record is what the lock file says: who holds the profile, and which
// browser runs on it. It outlives its writer, which is how the next start
// recognises a browser that was orphaned.
type record struct {
	Owner   processID `json:"owner"`
	Browser processID `json:"browser,omitzero"`
}

func profilesDir(dataDir string) string  { return filepath.Join(dataDir, "profiles") }
func temporaryDir(dataDir string) string { return filepath.Join(dataDir, "tmp") }

// claimProfile takes the profile that o asks for, creating its folder when it
// is not there. It returns ErrLaunchFailed, naming the process, when another
// browser uses it. o has its defaults.
func claimProfile(ctx context.Context, o *Options) (*profile, error) {
	if o.Isolated {
		return newTemporaryProfile(o.DataDir)
	}
	dir := filepath.Join(profilesDir(o.DataDir), o.Profile)
	if err := makePrivate(o.DataDir, dir); err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, dataHint, "profile directory %s: %w", dir, err)
	}
	p, err := lockProfile(ctx, dir)
	if err != nil {
		return nil, err
	}
	ended, err := endOrphan(ctx, p.record.Browser, dir)
	if err == nil && ended {
		o.Logger.Info("ended a browser that an earlier run left behind", "pid", p.record.Browser.PID, "profile", dir)
	}
	if err == nil {
		err = checkSingleton(dir)
	}
	if err == nil {
		err = p.note(processID{})
	}
	if err != nil {
		p.unlock()
		return nil, asLaunchFailed(err)
	}
	return p, nil
}

// newTemporaryProfile makes a folder that no one else has. A sweep of another
// process may see the folder before it is locked, and remove it: then there
// is simply another one.
func newTemporaryProfile(dataDir string) (*profile, error) {
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
		p := &profile{dir: dir, temporary: true}
		if p.lock, err = lockFile(filepath.Join(dir, lockName)); err != nil {
			continue
		}
		if err = p.note(processID{}); err != nil {
			p.release(context.Background())
			continue
		}
		return p, nil
	}
	return nil, executor.Errorf(executor.ErrLaunchFailed, dataHint, "temporary profile: %w", err)
}

// lockWait bounds the wait for a lock that is held by someone who is not a
// living owner: a sweep that looks at the folder, or a start that has not
// written its record yet.
const lockWait = 2 * time.Second

// lockProfile takes the lock of the profile in dir and reads what the last
// owner left in it.
func lockProfile(ctx context.Context, dir string) (*profile, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	p := &profile{dir: dir}
	path := filepath.Join(dir, lockName)
	var err error
	var owner processID
	poll(ctx, 20*time.Millisecond, func() bool {
		if p.lock, err = lockFile(path); !errors.Is(err, errLocked) {
			return true
		}
		held, _ := readRecord(path)
		owner = held.Owner
		return owner.alive()
	})
	if errors.Is(err, errLocked) {
		return nil, inUse(dir, owner.PID)
	}
	if err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, dataHint, "profile lock: %w", err)
	}
	p.record, err = readRecord(path)
	if err != nil {
		// Nothing that we wrote: then it tells of nothing to end either.
		p.record = record{}
	}
	// Some file systems have no locks; there the record alone has to do.
	if o := p.record.Owner; o.PID != os.Getpid() && o.alive() {
		p.unlock()
		return nil, inUse(dir, o.PID)
	}
	return p, nil
}

// note writes the record: this process, and the browser that it started.
func (p *profile) note(browser processID) error {
	owner, err := identify(os.Getpid())
	if err != nil {
		return err
	}
	p.record = record{Owner: owner, Browser: browser}
	b, err := json.Marshal(p.record)
	if err != nil {
		return err
	}
	return p.overwrite(append(b, '\n'))
}

// overwrite replaces the contents of the lock file. It writes before it cuts:
// a reader in between sees the new record and, at worst, the old one's tail,
// which a JSON decoder does not read.
func (p *profile) overwrite(b []byte) error {
	if _, err := p.lock.WriteAt(b, 0); err != nil {
		return fmt.Errorf("profile lock: %w", err)
	}
	if err := p.lock.Truncate(int64(len(b))); err != nil {
		return fmt.Errorf("profile lock: %w", err)
	}
	return nil
}

// unlock lets go of the profile without changing anything.
func (p *profile) unlock() { _ = p.lock.Close() }

// removeLimit bounds how long a temporary profile is tried to be removed:
// helpers of the browser write into it for a moment after its end.
const removeLimit = 5 * time.Second

// release lets go of the profile, whose browser has ended: a temporary one is
// removed, a named one says that no one uses it.
func (p *profile) release(ctx context.Context) error {
	removeSocket(cmp.Or(p.socket, socketOf(p.dir)))
	if !p.temporary {
		err := p.overwrite(nil)
		return errors.Join(err, p.lock.Close())
	}
	p.unlock() // first, because Windows removes no open file
	return removeProfile(ctx, p.dir)
}

// removeProfile removes the folder of a temporary profile.
func removeProfile(ctx context.Context, dir string) error {
	removeSocket(socketOf(dir))
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
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

// socketOf returns where the singleton socket of the browser on the profile in
// dir is, or "" when the profile does not say: a Chromium that ends removes the
// link to it first.
func socketOf(dir string) string {
	socket, _ := os.Readlink(filepath.Join(dir, "SingletonSocket"))
	return socket
}

// removeSocket removes a singleton socket that a Chromium which was killed has
// left, with its folder in the system's temporary one. Only a folder of that
// form goes, only when no one listens at the socket, and only with nothing
// else in it.
func removeSocket(socket string) {
	folder := filepath.Dir(socket)
	base := strings.TrimPrefix(filepath.Base(folder), ".")
	if !filepath.IsAbs(socket) || filepath.Base(socket) != "SingletonSocket" ||
		!(strings.HasPrefix(base, "org.chromium.") || strings.HasPrefix(base, "com.")) {
		return
	}
	// The threads of a process that was killed hold its socket a moment longer
	// than the process counts as alive.
	ctx, cancel := detached(socketGrace)
	defer cancel()
	if !poll(ctx, 5*time.Millisecond, func() bool { return !listens(socket) }) {
		return
	}
	_ = os.Remove(socket)
	_ = os.Remove(filepath.Join(folder, "SingletonCookie"))
	_ = os.Remove(folder)
}

// socketGrace is how long a killed browser may hold its socket.
const socketGrace = 2 * time.Second

// listens reports whether someone accepts connections at a Unix socket.
func listens(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func readRecord(path string) (record, error) {
	f, err := os.Open(path)
	if err != nil {
		return record{}, err
	}
	defer f.Close()
	var r record
	err = json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&r)
	return r, err
}

// makePrivate creates dir in the data directory. Other users can neither read,
// write nor replace it: it contains cookies and logins.
func makePrivate(dataDir, dir string) error {
	if err := owneronly.MakeDir(dataDir); err != nil {
		return fmt.Errorf("data directory %s: %w", dataDir, err)
	}
	return owneronly.MakePrivateDir(dir)
}

// singleton reads Chromium's own lock of the profile in dir: the host and the
// process that hold it. ok is false when there is none.
func singleton(dir string) (host string, pid int, ok bool) {
	target, err := os.Readlink(filepath.Join(dir, "SingletonLock"))
	if err != nil {
		return "", 0, false
	}
	i := strings.LastIndexByte(target, '-')
	if i < 0 {
		return "", 0, false
	}
	if _, err := fmt.Sscanf(target[i+1:], "%d", &pid); err != nil {
		return "", 0, false
	}
	return target[:i], pid, true
}

// checkSingleton returns ErrLaunchFailed when Chromium's own lock says that
// another browser uses the profile. Asking first matters: a second Chromium
// would have the first one open a window, and end.
func checkSingleton(dir string) error {
	host, pid, ok := singleton(dir)
	if !ok {
		return nil
	}
	own, err := os.Hostname()
	if err != nil {
		return nil
	}
	if host != own {
		return lockedElsewhere(dir, host, pid)
	}
	if usesProfile(pid, dir) {
		return inUse(dir, pid)
	}
	removeSocket(socketOf(dir)) // its holder is gone; Chromium takes the lock over, not this
	return nil
}

func inUse(dir string, pid int) error {
	by := "another browser"
	if pid > 0 {
		by = fmt.Sprintf("process %d", pid)
	}
	return executor.Errorf(executor.ErrLaunchFailed, "Use --isolated or another --profile, or end that process.",
		"profile %s is in use by %s", dir, by)
}

func lockedElsewhere(dir, host string, pid int) error {
	return executor.Errorf(executor.ErrLaunchFailed,
		fmt.Sprintf("If no browser on %s uses it any more, delete %s.", host, filepath.Join(dir, "SingletonLock")),
		"profile %s is locked by process %d on another machine, %s", dir, pid, host)
}

// asLaunchFailed gives err the code ErrLaunchFailed unless it has one.
func asLaunchFailed(err error) error {
	if e, ok := errors.AsType[*executor.Error](err); ok {
		return e
	}
	return executor.Errorf(executor.ErrLaunchFailed, dataHint, "%w", err)
}
