package bridge

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A handshakeRecord is the content of a handshake file.
type handshakeRecord struct {
	V           int    `json:"v"`
	Port        int    `json:"port"`
	Token       string `json:"token"`
	PID         int    `json:"pid"`
	Started     int64  `json:"started"`           // when the process started, in milliseconds since 1970
	Process     string `json:"process,omitempty"` // result of identity; distinguishes processes with the same PID
	Name        string `json:"name"`
	ExtensionID string `json:"extensionId"`
}

// A handshakeFile is the handshake file of this server. Nil means no file is published.
type handshakeFile struct {
	path  string
	info  fs.FileInfo
	token []byte
}

// publish writes a handshake file with a new token for a server that listens on port.
func (d *dataDirectory) publish(port int, opts Options) (*handshakeFile, error) {
	started, err := processid.Started(os.Getpid())
	if err != nil {
		return nil, errs.Errorf(errs.ErrInternal, "", "cannot read process start time: %w", err)
	}
	process, err := identity(os.Getpid())
	if err != nil {
		return nil, errs.Errorf(errs.ErrInternal, "", "cannot read process start time: %w", err)
	}
	token := wire.NewKey()
	data, err := json.Marshal(handshakeRecord{
		V: wire.Version, Port: port, Token: wire.EncodeKey(token), PID: os.Getpid(), Started: started, Process: process,
		Name: opts.Name, ExtensionID: opts.ExtensionID,
	})
	if err != nil {
		return nil, errs.Errorf(errs.ErrInternal, "", "handshake file: %w", err)
	}
	path := filepath.Join(d.path, handshakesName, fmt.Sprintf("%d-%d.json", os.Getpid(), port))
	info, err := owneronly.WriteFile(path, append(data, '\n'))
	if err != nil {
		return nil, errs.Errorf(errs.ErrNoBackend, dataDirHint, "handshake file: %w", err)
	}
	return &handshakeFile{path, info, token}, nil
}

// removed reports whether the file was deleted or replaced.
func (h *handshakeFile) removed() bool {
	info, err := os.Lstat(h.path)
	return err != nil || !os.SameFile(info, h.info)
}

// remove deletes the file unless it was replaced.
func (h *handshakeFile) remove() {
	if h != nil && !h.removed() {
		os.Remove(h.path)
	}
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
		if a.Started != b.Started {
			return int(b.Started - a.Started)
		}
		return b.Port - a.Port
	})
	return running
}

// sweep deletes handshake files of processes that have exited, and expired pairing files.
func (d *dataDirectory) sweep() {
	d.each(func(path string, r handshakeRecord) {
		if !r.alive() {
			os.Remove(path)
		}
	})
	pairings, _ := filepath.Glob(filepath.Join(d.path, "pairing-*.txt"))
	for _, path := range pairings {
		if info, err := os.Lstat(path); err == nil && expired(info, time.Now()) {
			os.Remove(path)
		}
	}
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
		if err := readJSON(path, &r); err == nil && r.V == wire.Version {
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
		process, err := identity(r.PID)
		return err == nil && process == r.Process
	}
	return (time.Duration(max(started-r.Started, r.Started-started)) * time.Millisecond) <= startTimeTolerance
}
