package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/owneronly"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

const handshakesName = "handshakes"

const dataDirHint = "Choose another directory with --data, or make this one writable only by you."

// A dataDirectory is the data folder. A nil folder holds nothing.
type dataDirectory struct{ path string }

// openDataDir makes the data folder, and in it the one for handshake files, and
// checks that nobody else can put anything there.
func openDataDir(path string) (*dataDirectory, error) {
	if path == "" {
		return nil, executor.Errorf(executor.ErrBadArgs, "", "the bridge needs a data folder")
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = makeDirs(path)
	}
	if err != nil {
		return nil, executor.Errorf(executor.ErrNoBackend, dataDirHint, "data folder %s: %w", path, err)
	}
	f := &dataDirectory{path}
	f.sweep()
	return f, nil
}

// EnsureDir makes a folder of a data folder, or the data folder itself, unless
// it is there. It returns an [executor.ErrNoBackend] when others than its user
// may put something into it: what is in it is trusted, and the extension's code
// runs in the user's browser.
func EnsureDir(path string) error {
	if err := owneronly.MakeDir(path); err != nil {
		return executor.Errorf(executor.ErrNoBackend, dataDirHint, "folder %s: %w", path, err)
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

// writePrivate writes a file that only its user can read, all of it or none,
// and returns what it is on the disk.
func writePrivate(path string, data []byte) (fs.FileInfo, error) {
	temporary := filepath.Join(filepath.Dir(path), ".new-"+wire.NewID())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temporary) // gone already when all went well
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if err := os.Rename(temporary, path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err == nil {
		err = owneronly.CheckFile(info)
	}
	if err != nil {
		os.Remove(path)
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return info, nil
}

// maxPrivate bounds what is read of a file.
const maxPrivate = 1 << 20

// readPrivate reads what writePrivate wrote, and nothing else.
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

// readJSON reads a private file. Its error holds nothing of it.
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
