package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The subdirectories of the data directory with files of sessions.
const (
	downloadsName = "downloads"
	outputName    = "output"
)

// sessionDirs are the directories in which a session of a server saves files. The zero value is that
// of a session without a server.
type sessionDirs struct {
	name, principal string
	token           bool // the principal is a client with a token, not a chat
}

// output returns the directory for saved results.
func (d sessionDirs) output(data string) string {
	return filepath.Join(data, outputName, d.base())
}

// downloads returns the directory for downloads. Sessions of the operating-system user share one; a
// client with a token must not find out which names the files of others have.
func (d sessionDirs) downloads(data string) string {
	if !d.token {
		return filepath.Join(data, downloadsName)
	}
	return filepath.Join(data, downloadsName, d.base())
}

// outputUsed and downloadsUsed return functions that count the files and directories of all sessions of
// the principal, also of those that are closed. They return nil if the principal is not a client with a
// token: the files of others are limited for each session.
func (d sessionDirs) outputUsed(data string) func() (bytes int64, files int) {
	return d.used(filepath.Join(data, outputName))
}

func (d sessionDirs) downloadsUsed(data string) func() (bytes int64, files int) {
	return d.used(filepath.Join(data, downloadsName))
}

func (d sessionDirs) used(parent string) func() (bytes int64, files int) {
	if !d.token {
		return nil
	}
	return func() (bytes int64, files int) {
		all, err := os.ReadDir(parent)
		if err != nil {
			return 0, 0 // no session has saved files
		}
		for _, dir := range all {
			if !strings.HasSuffix(dir.Name(), d.owner()) {
				continue
			}
			root := filepath.Join(parent, dir.Name())
			_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
				if err != nil || path == root {
					return nil // not readable, or just removed
				}
				files++ // directories use the disk, too
				if info, err := e.Info(); err == nil && !e.IsDir() {
					bytes += info.Size()
				}
				return nil
			})
		}
		return bytes, files
	}
}

// base returns the name of the directory of the session.
func (d sessionDirs) base() string {
	if d.principal == "" {
		return fileName(d.name)
	}
	return fileName(d.name) + d.owner()
}

// owner returns the end of the names of the directories of the principal. Names of sessions have no @.
func (d sessionDirs) owner() string { return "@" + fileName(d.principal) }

// reservedNames are the names that Windows does not allow for files, also before a dot.
var reservedNames = []string{"con", "prn", "aux", "nul"}

// fileName returns a name for the files of a session or principal. Different names have different
// file names, also on file systems that ignore case, and each is valid on all systems. It is the name
// itself if that has these properties.
func fileName(name string) string {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	numbered := len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt"))
	if name == strings.ToLower(name) && !strings.HasSuffix(name, ".") && !numbered && !slices.Contains(reservedNames, base) {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return fmt.Sprintf("~%x-%s", digest[:4], strings.TrimRight(strings.ToLower(name), ".")) // no name begins with ~
}
