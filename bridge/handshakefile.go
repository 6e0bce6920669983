package bridge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A handshakeRecord is the content of a handshake file.
type handshakeRecord struct {
	V            int    `json:"v"`
	Port         int    `json:"port"`
	Token        string `json:"token"`
	PID          int    `json:"pid"`
	Started      int64  `json:"started"`           // when the process started, in milliseconds since 1970
	Process      string `json:"process,omitempty"` // result of processid.Of; distinguishes processes with the same PID
	Name         string `json:"name"`
	ExtensionID  string `json:"extensionId"`
	Installation string `json:"installation,omitempty"` // Options.Installation
}

// A handshakeFile is the handshake file of this server. Its File is nil if none is published.
type handshakeFile struct {
	*owneronly.File
	token []byte
}

// publish writes a handshake file with a new token for a server that listens on port.
func (d *dataDirectory) publish(port int, opts Options) (handshakeFile, error) {
	r := handshakeRecord{
		V: fileVersion, Port: port, PID: os.Getpid(), Name: opts.Name, ExtensionID: opts.ExtensionID,
		Installation: opts.Installation,
	}
	var err error
	if r.Started, err = processid.Started(r.PID); err == nil && runtime.GOOS == "linux" { // elsewhere, Started does not change with the clock
		r.Process, err = processid.Of(r.PID)
	}
	if err != nil {
		return handshakeFile{}, errs.Errorf(errs.ErrInternal, "", "cannot read process start time: %w", err)
	}
	token := wire.NewKey()
	r.Token = wire.EncodeKey(token)
	data, err := json.Marshal(r)
	if err != nil {
		return handshakeFile{}, errs.Errorf(errs.ErrInternal, "", "handshake file: %w", err)
	}
	file, err := owneronly.WriteFile(d.recordPath(r), append(data, '\n'))
	if err != nil {
		return handshakeFile{}, errs.Errorf(errs.ErrNoBackend, dataDirHint, "handshake file: %w", err)
	}
	return handshakeFile{file, token}, nil
}

// A RunningServer describes a running server of the user.
type RunningServer struct {
	PID     int
	Port    int
	Name    string    // Options.Name
	Started time.Time // when the process started
}

// RunningServers returns the running servers that have a handshake file in dataDir, the most
// recently started first. If the directory is not readable, it returns nil.
func RunningServers(dataDir string) []RunningServer {
	var list []RunningServer
	for _, r := range (&dataDirectory{dataDir}).runningServers() {
		list = append(list, RunningServer{r.PID, r.Port, r.Name, time.UnixMilli(r.Started)})
	}
	return list
}

// Stop closes all connections of all running servers that have a handshake file in dataDir, by
// deleting the files. The processes keep running. It returns the number of servers.
func Stop(dataDir string) (int, error) {
	d := &dataDirectory{dataDir}
	records := d.runningServers()
	for i, r := range records {
		if err := os.Remove(d.recordPath(r)); err != nil {
			return i, errs.Errorf(errs.ErrInternal, "", "handshake file: %w", err)
		}
	}
	return len(records), nil
}

func (d *dataDirectory) recordPath(r handshakeRecord) string {
	return filepath.Join(d.path, handshakesName, fmt.Sprintf("%d-%d.json", r.PID, r.Port))
}

// runningServers returns the handshake files of running processes, the most recently started first.
func (d *dataDirectory) runningServers() []handshakeRecord {
	var running []handshakeRecord
	d.each(func(path string, r handshakeRecord) {
		if r.alive() && path == d.recordPath(r) {
			running = append(running, r)
		}
	})
	slices.SortFunc(running, func(a, b handshakeRecord) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), b.Port-a.Port)
	})
	return running
}

// Sweep deletes from dataDir the handshake files of processes that have exited, and expired pairing
// files, as each server does when it starts. It returns the number of deleted files.
func Sweep(dataDir string) int { return (&dataDirectory{dataDir}).sweep() }

// sweep is Sweep for d.
func (d *dataDirectory) sweep() (removed int) {
	remove := func(path string) {
		if os.Remove(path) == nil {
			removed++
		}
	}
	d.each(func(path string, r handshakeRecord) {
		if !r.alive() {
			remove(path)
		}
	})
	pairings, _ := filepath.Glob(filepath.Join(d.path, "pairing-*.txt"))
	for _, path := range pairings {
		if info, err := os.Lstat(path); err == nil && expired(info, time.Now()) {
			remove(path)
		}
	}
	return removed
}

// recordPaths returns the sorted paths of the handshake files, including invalid ones.
func (d *dataDirectory) recordPaths() []string {
	paths, _ := filepath.Glob(filepath.Join(d.path, handshakesName, "*.json"))
	return paths
}

// each calls do for each valid handshake file.
func (d *dataDirectory) each(do func(path string, r handshakeRecord)) {
	for _, path := range d.recordPaths() {
		var r handshakeRecord
		if err := readJSON(path, &r); err == nil && r.V == fileVersion {
			do(path, r)
		}
	}
}

// startTimeTolerance is the maximum difference between two readings of the start time of a process:
// some systems compute it from a boot time that is adjusted with the clock.
const startTimeTolerance = 3 * time.Second

// alive reports whether the process that wrote the file still runs. It returns false if another
// process has its PID now.
func (r handshakeRecord) alive() bool {
	started, err := processid.Started(r.PID)
	if err != nil {
		return false
	}
	if r.Process != "" {
		process, err := processid.Of(r.PID)
		return err == nil && process == r.Process
	}
	return (time.Duration(max(started-r.Started, r.Started-started)) * time.Millisecond) <= startTimeTolerance
}
