package upload

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/patherror"
)

// Resolve returns the absolute path of a file in the directory dir, with symbolic links resolved,
// for a browser that reads the file. Its errors are those of Read.
func Resolve(dir, path string) (string, error) {
	if dir == "" {
		return "", noDirError()
	}
	resolvedDir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		resolvedDir, err = filepath.Abs(resolvedDir)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(resolvedDir)
	}
	if err != nil {
		return "", dirError(err)
	}
	defer root.Close()
	name, err := within(dir, path)
	if err != nil && filepath.IsAbs(path) {
		name, err = within(resolvedDir, path)
	}
	if err != nil {
		return "", err
	}
	f, err := open(root, name)
	if err != nil {
		return "", readError(err, dir, path)
	}
	defer f.Close()
	resolved, err := filepath.EvalSymlinks(filepath.Join(resolvedDir, name))
	if err != nil {
		return "", readError(err, dir, path)
	}
	// The path must be that of the checked file.
	if _, err := within(resolvedDir, resolved); err != nil {
		return "", outsideDirError(dir, path)
	}
	return resolved, nil
}

func noDirError() error {
	return executor.Errorf(executor.ErrPolicyDenied, "The user can allow it with Config.UploadsDir.", "no upload directory configured")
}

func dirError(err error) error {
	return executor.Errorf(executor.ErrBadArgs, "The user must create it, or choose another with Config.UploadsDir.", "the upload directory cannot be opened: %w", patherror.Cause(err))
}

// open opens a regular file that has no other hard link.
func open(root *os.Root, name string) (*os.File, error) {
	// Opening a file that is not a regular file can have side effects, so check first. Another file
	// may replace it, so check the opened file again. Opening a pipe must not block.
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegularFile
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errNotRegularFile
	}
	if err == nil {
		// Another link to the file may be outside the directory.
		var n uint64
		if n, err = linkCount(f); err != nil || n != 1 {
			err = cmp.Or(err, errLinked)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
