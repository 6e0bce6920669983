package cdpendpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/processid"
)

// A Record is the content of the file of a CDP endpoint.
type Record struct {
	PID     int       `json:"pid"`
	Process string    `json:"process"` // result of processid.Of; distinguishes processes with the same PID
	Port    int       `json:"port"`
	URL     string    `json:"url"` // with the secret path
	Started time.Time `json:"started"`
}

// running reports whether the process that wrote the file is still running.
func (r *Record) running() bool {
	process, err := processid.Of(r.PID)
	return err == nil && process == r.Process
}

// maxFile is the maximum size of the file of a CDP endpoint, in bytes.
const maxFile = 4 << 10

// filePath returns the path of the file of the process with a PID.
func filePath(data string, pid int) string {
	return filepath.Join(data, "cdp", fmt.Sprintf("%d.json", pid))
}

// writeFile writes the file of the endpoint of this process, and deletes the files that killed
// processes did not remove.
func writeFile(data string, port int, url string) (*owneronly.File, error) {
	const hint = "Choose another directory with --data, or make this one writable only by you."
	path := filePath(data, os.Getpid())
	process, err := processid.Of(os.Getpid())
	if err != nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "cannot read process start time: %w", err)
	}
	if err := owneronly.MakeDir(data); err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, hint, "data directory %s: %w", data, err)
	}
	if err := owneronly.MakePrivateDir(filepath.Dir(path)); err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, hint, "directory %s: %w", filepath.Dir(path), err)
	}
	RemoveStale(data)
	record, err := json.Marshal(Record{os.Getpid(), process, port, url, time.Now()})
	if err != nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "file of the CDP endpoint: %w", err)
	}
	file, err := owneronly.WriteFile(path, append(record, '\n'))
	if err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, hint, "file of the CDP endpoint: %w", err)
	}
	return file, nil
}

// RemoveStale deletes the files of processes that have exited, and returns their number.
func RemoveStale(data string) (removed int) {
	eachFile(data, func(path string, r *Record) {
		if !r.running() && os.Remove(path) == nil {
			removed++
		}
	})
	return removed
}

// eachFile calls do for each valid file of a CDP endpoint.
func eachFile(data string, do func(path string, r *Record)) {
	dir := filepath.Dir(filePath(data, 0))
	files, _ := os.ReadDir(dir)
	for _, file := range files {
		var r Record
		path := filepath.Join(dir, file.Name())
		text, err := owneronly.ReadFile(path, maxFile)
		if err == nil && json.Unmarshal(text, &r) == nil && path == filePath(data, r.PID) {
			do(path, &r)
		}
	}
}

// Running returns the CDP endpoints of running processes with a data directory, the
// newest first.
func Running(data string) (all []Record) {
	eachFile(data, func(_ string, r *Record) {
		if r.running() {
			all = append(all, *r)
		}
	})
	slices.SortFunc(all, func(a, b Record) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.PID, a.PID))
	})
	return all
}
