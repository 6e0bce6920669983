package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
)

const handshakesName = "handshakes"

// fileVersion is the version of the handshake files and of the pairings file. It is not the protocol
// version: paired keys remain valid if that changes, and an extension finds servers of another version,
// so that it can report the difference.
const fileVersion = 1

const dataDirHint = "Choose another directory with Options.DataDir, or make this one writable only by you."

// A dataDirectory is the data directory. A nil dataDirectory has no pairings.
type dataDirectory struct{ path string }

// openDataDir creates the data directory and its subdirectory for handshake files, and checks that
// only the user can write to them. It also deletes the files that killed servers did not remove.
func openDataDir(path string) (*dataDirectory, error) {
	if path == "" {
		return nil, errs.Errorf(errs.ErrBadArgs, "", "the bridge requires a data directory")
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = makeDirs(path)
	}
	if err != nil {
		return nil, errs.Errorf(errs.ErrNoBackend, dataDirHint, "data directory %s: %w", path, err)
	}
	d := &dataDirectory{path}
	d.sweep()
	return d, nil
}

// EnsureDir creates a data directory, or a directory in it, if it does not exist. It returns an
// [errs.ErrNoBackend] if other users can write to the directory: its files are trusted, and
// the extension's code runs in the user's browser.
func EnsureDir(path string) error {
	if err := owneronly.MakeDir(path); err != nil {
		return errs.Errorf(errs.ErrNoBackend, dataDirHint, "directory %s: %w", path, err)
	}
	return nil
}

func makeDirs(path string) error {
	if err := owneronly.MakeDir(path); err != nil {
		return err
	}
	inner := filepath.Join(path, handshakesName)
	if err := os.Mkdir(inner, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(inner)
	if err == nil {
		err = owneronly.CheckDir(info)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", handshakesName, err)
	}
	if !owneronly.Private(info) {
		return os.Chmod(inner, 0o700)
	}
	return nil
}

// maxPrivate is the maximum number of bytes that readPrivate reads.
const maxPrivate = 1 << 20

// readPrivate reads a file that [owneronly.WriteFile] wrote. It rejects a file that fails
// [owneronly.CheckFile], and a file that is replaced while it is opened.
func readPrivate(path string) ([]byte, fs.FileInfo, error) {
	named, err := os.Lstat(path)
	if err == nil {
		err = owneronly.CheckFile(named)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(named, opened) {
		return nil, nil, errors.New("was replaced while it was opened")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPrivate))
	return data, named, err
}

// readJSON decodes a private file into v. Its error does not repeat the file's content.
func readJSON(path string, v any) error {
	data, _, err := readPrivate(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is malformed", filepath.Base(path))
	}
	return nil
}
