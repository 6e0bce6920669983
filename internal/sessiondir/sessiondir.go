// Package sessiondir names the directories in which sessions save files, and counts the files of clients
// with tokens.
package sessiondir

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/download"
)

// The subdirectories of the data directory with files of sessions.
const (
	downloadsName = "downloads"
	outputName    = "output"
)

// Dirs are the directories in which a session of a server saves files. The zero value is that
// of a session without a server.
type Dirs struct {
	Name, Principal string
	Token           bool    // the principal is a client with a token, not a chat
	Usages          *Usages // of the server
}

// Usages count the files of the clients with tokens, each over all its sessions. The methods are
// safe for concurrent use. The zero value is that of a server without sessions.
type Usages struct {
	mu     sync.Mutex                 // guards counts
	counts map[string]*download.Usage // by parent of the directories, and end of their names
}

// of returns the usage of the directories in parent whose names end with owner. It is the same for each
// call.
func (f *Usages) of(parent, owner string) *download.Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := filepath.Join(parent, owner)
	u := f.counts[key]
	if u == nil {
		if f.counts == nil {
			f.counts = make(map[string]*download.Usage)
		}
		u = download.NewUsage(func() download.Existing { return countFiles(parent, owner) })
		f.counts[key] = u
	}
	return u
}

// countFiles counts the files and directories in the directories in parent whose names end with owner.
func countFiles(parent, owner string) (e download.Existing) {
	all, err := os.ReadDir(parent)
	if err != nil {
		return e // no session has saved files
	}
	for _, dir := range all {
		if !strings.HasSuffix(dir.Name(), owner) {
			continue
		}
		root := filepath.Join(parent, dir.Name())
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == root {
				return nil // not readable, or just removed
			}
			var size int64
			if info, err := entry.Info(); err == nil && !entry.IsDir() {
				size = info.Size()
			}
			if download.IsUnfinished(strings.TrimPrefix(path, root+string(filepath.Separator))) {
				e.UnfinishedBytes += size
				e.UnfinishedFiles++
			} else {
				e.Bytes += size
				e.Files++ // directories use the disk, too
			}
			return nil
		})
	}
	return e
}

// Output returns the directory for saved results.
func (d Dirs) Output(data string) string {
	return filepath.Join(data, outputName, d.base())
}

// Downloads returns the directory for downloads. Sessions of the operating-system user share one; a
// client with a token must not find out which names the files of others have.
func (d Dirs) Downloads(data string) string {
	if !d.Token {
		return filepath.Join(data, downloadsName)
	}
	return filepath.Join(data, downloadsName, d.base())
}

// OutputUsage and DownloadsUsage count the files of all sessions of the principal, also of those that
// are closed. They are nil if the principal is not a client with a token: the files of others are
// limited for each session.
func (d Dirs) OutputUsage(data string) executor.FileUsage {
	return d.usage(filepath.Join(data, outputName))
}

func (d Dirs) DownloadsUsage(data string) executor.FileUsage {
	return d.usage(filepath.Join(data, downloadsName))
}

func (d Dirs) usage(parent string) executor.FileUsage {
	if !d.Token {
		return nil
	}
	return d.Usages.of(parent, d.owner())
}

// base returns the name of the directory of the session.
func (d Dirs) base() string {
	if d.Principal == "" {
		return fileName(d.Name)
	}
	return fileName(d.Name) + d.owner()
}

// owner returns the end of the names of the directories of the principal. Names of sessions have no @.
func (d Dirs) owner() string { return "@" + fileName(d.Principal) }

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
