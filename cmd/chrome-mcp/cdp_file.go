package main

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

// A cdpRecord is the content of the file of a CDP endpoint.
type cdpRecord struct {
	PID     int       `json:"pid"`
	Process string    `json:"process"` // result of processid.Of; distinguishes processes with the same PID
	Port    int       `json:"port"`
	URL     string    `json:"url"` // with the secret path
	Started time.Time `json:"started"`
}

// running reports whether the process that wrote the file is still running.
func (r *cdpRecord) running() bool {
	process, err := processid.Of(r.PID)
	return err == nil && process == r.Process
}

// maxCDPFile is the maximum size of the file of a CDP endpoint, in bytes.
const maxCDPFile = 4 << 10

// cdpFilePath returns the path of the file of the process with a PID.
func cdpFilePath(data string, pid int) string {
	return filepath.Join(data, "cdp", fmt.Sprintf("%d.json", pid))
}

// writeCDPFile writes the file of the endpoint of this process, and deletes the files that killed
// processes did not remove.
func writeCDPFile(data string, port int, url string) (*owneronly.File, error) {
	const hint = "Choose another directory with --data, or make this one writable only by you."
	path := cdpFilePath(data, os.Getpid())
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
	removeStaleCDPFiles(data)
	record, err := json.Marshal(cdpRecord{os.Getpid(), process, port, url, time.Now()})
	if err != nil {
		return nil, executor.Errorf(executor.ErrInternal, "", "file of the CDP endpoint: %w", err)
	}
	file, err := owneronly.WriteFile(path, append(record, '\n'))
	if err != nil {
		return nil, executor.Errorf(executor.ErrLaunchFailed, hint, "file of the CDP endpoint: %w", err)
	}
	return file, nil
}

// removeStaleCDPFiles deletes the files of processes that have exited, and returns their number.
func removeStaleCDPFiles(data string) (removed int) {
	eachCDPFile(data, func(path string, r *cdpRecord) {
		if !r.running() && os.Remove(path) == nil {
			removed++
		}
	})
	return removed
}

// eachCDPFile calls do for each valid file of a CDP endpoint.
func eachCDPFile(data string, do func(path string, r *cdpRecord)) {
	dir := filepath.Dir(cdpFilePath(data, 0))
	files, _ := os.ReadDir(dir)
	for _, file := range files {
		var r cdpRecord
		path := filepath.Join(dir, file.Name())
		text, err := owneronly.ReadFile(path, maxCDPFile)
		if err == nil && json.Unmarshal(text, &r) == nil && path == cdpFilePath(data, r.PID) {
			do(path, &r)
		}
	}
}

// runningCDPEndpoints returns the CDP endpoints of running processes with a data directory, the
// newest first.
func runningCDPEndpoints(data string) (all []cdpRecord) {
	eachCDPFile(data, func(_ string, r *cdpRecord) {
		if r.running() {
			all = append(all, *r)
		}
	})
	slices.SortFunc(all, func(a, b cdpRecord) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.PID, a.PID))
	})
	return all
}
