package server

import (
	"path/filepath"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

// StopTimeout is longer than a server takes to stop, with the browsers of all workspaces.
const StopTimeout = 30 * time.Second

// lockPath returns the path of the file that the server of a socket locks while it uses the data
// directory: from before it listens until it has closed everything. The lock ends with its process.
func lockPath(socket string) string { return socket + ".lock" }

// errDirInUse is the error for a data directory whose server runs or, if stopping is set, has not
// closed its browsers yet.
func errDirInUse(socket string, stopping bool) error {
	dir := filepath.Dir(filepath.Dir(socket))
	if stopping {
		return errs.Errorf(errs.ErrBackpressure,
			"Wait until its process has exited, end it, or use another data directory.",
			"a server that is stopping still uses the data directory %s", dir)
	}
	return errs.Errorf(errs.ErrBackpressure, "Use that server, stop it, or use another data directory.",
		"another server uses the data directory %s", dir)
}
