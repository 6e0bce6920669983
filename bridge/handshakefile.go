package bridge

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/processid"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A handshakeRecord is what a handshake file holds.
type handshakeRecord struct {
	V           int    `json:"v"`
	Port        int    `json:"port"`
	Token       string `json:"token"`
	PID         int    `json:"pid"`
	Started     int64  `json:"started"`           // of the process, in milliseconds since 1970
	Process     string `json:"process,omitempty"` // tells the process from others with its number
	Name        string `json:"name"`
	ExtensionID string `json:"extensionId"`
}

// A handshakeFile is the file of this server. A nil one is gone.
type handshakeFile struct {
	path  string
	info  fs.FileInfo
	token []byte
}

// publish writes a handshake file with a new token.
func (f *dataDirectory) publish(port int, opts Options) (*handshakeFile, error) {
	started, err := processid.Started(os.Getpid())
	if err != nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "cannot read process start time: %w", err)
	}
	process, err := identity(os.Getpid())
	if err != nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "cannot read process start time: %w", err)
	}
	token := wire.NewKey()
	data, err := json.Marshal(handshakeRecord{
		V: wire.Version, Port: port, Token: wire.EncodeKey(token), PID: os.Getpid(), Started: started, Process: process,
		Name: opts.Name, ExtensionID: opts.ExtensionID,
	})
	if err != nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "handshake file: %w", err)
	}
	path := filepath.Join(f.path, handshakesName, fmt.Sprintf("%d-%d.json", os.Getpid(), port))
	info, err := writePrivate(path, append(data, '\n'))
	if err != nil {
		return nil, executor.Errorf(executor.ErrNoBackend, dataDirHint, "handshake file: %w", err)
	}
	return &handshakeFile{path, info, token}, nil
}

// removed reports whether the file was deleted, or replaced by another one.
func (h *handshakeFile) removed() bool {
	info, err := os.Lstat(h.path)
	return err != nil || !os.SameFile(info, h.info)
}

// remove deletes the file, unless another one has taken its place.
func (h *handshakeFile) remove() {
	if h != nil && !h.removed() {
		os.Remove(h.path)
	}
}

// A RunningServer is a server of this user that runs.
type RunningServer struct {
	PID     int
	Port    int
	Name    string
	Started time.Time
}

// RunningServers lists the servers that run and have published themselves in a data
// folder, the one started last first. An unreadable folder has none.
func RunningServers(dataDir string) []RunningServer {
	var list []RunningServer
	for _, r := range (&dataDirectory{dataDir}).live() {
		list = append(list, RunningServer{r.PID, r.Port, r.Name, time.UnixMilli(r.Started)})
	}
	return list
}

// Stop ends every session of every server that has published itself in a data
// folder, by deleting its handshake file; none of the processes ends. It
// returns how many servers there were.
func Stop(dataDir string) (int, error) {
	f := &dataDirectory{dataDir}
	records := f.live()
	for i, r := range records {
		if err := os.Remove(f.recordPath(r)); err != nil {
			return i, executor.Errorf(executor.ErrInternal, "", "handshake file: %w", err)
		}
	}
	return len(records), nil
}

func (f *dataDirectory) recordPath(r handshakeRecord) string {
	return filepath.Join(f.path, handshakesName, fmt.Sprintf("%d-%d.json", r.PID, r.Port))
}

// live reads the handshake files of processes that run, the latest first.
func (f *dataDirectory) live() []handshakeRecord {
	var live []handshakeRecord
	f.each(func(path string, r handshakeRecord) {
		if r.alive() && path == f.recordPath(r) {
			live = append(live, r)
		}
	})
	slices.SortFunc(live, func(a, b handshakeRecord) int {
		if a.Started != b.Started {
			return int(b.Started - a.Started)
		}
		return b.Port - a.Port
	})
	return live
}

// sweep deletes what processes left behind that were killed.
func (f *dataDirectory) sweep() {
	f.each(func(path string, r handshakeRecord) {
		if !r.alive() {
			os.Remove(path)
		}
	})
	pairings, _ := filepath.Glob(filepath.Join(f.path, "pairing-*.txt"))
	for _, path := range pairings {
		if info, err := os.Lstat(path); err == nil && expired(info, time.Now()) {
			os.Remove(path)
		}
	}
}

// recordPaths lists the handshake files, in order, whatever they hold.
func (f *dataDirectory) recordPaths() []string {
	paths, _ := filepath.Glob(filepath.Join(f.path, handshakesName, "*.json"))
	return paths
}

// each calls do for each handshake file that is one.
func (f *dataDirectory) each(do func(path string, r handshakeRecord)) {
	for _, path := range f.recordPaths() {
		var r handshakeRecord
		if err := readJSON(path, &r); err == nil && r.V == wire.Version {
			do(path, r)
		}
	}
}

// startTimeTolerance is how much two readings of a process's start may differ: some
// systems count from a boot time that is adjusted with the clock.
const startTimeTolerance = 3 * time.Second

// alive reports whether the process that wrote the file still runs, and not
// another one that has its number now.
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
