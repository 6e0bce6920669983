// Package configfile reads JSON files with comments and trailing commas that a user writes. Its errors
// name the file, the line and the column, which is a byte, as in the errors of Go.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"
)

// MaxBytes limits the size of a file.
const MaxBytes = 1 << 20

// A File is the text of a file and its value.
type File struct {
	Root hujson.Value

	path string
	text []byte
}

// A SyntaxError is an error in the syntax of a file. Its text quotes a part of the file.
type SyntaxError struct {
	Position string // the path, with line and column unless they are unknown
	Err      error
}

func (e *SyntaxError) Error() string { return e.Position + ": " + e.Err.Error() }
func (e *SyntaxError) Unwrap() error { return e.Err }

// Parse parses the text of the file at path. Its errors are of type *SyntaxError.
func Parse(path string, text []byte) (*File, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		var line, column int
		if _, e := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); e != nil {
			return nil, &SyntaxError{path, err}
		}
		return nil, &SyntaxError{fmt.Sprintf("%s:%d:%d", path, line, column), errors.Unwrap(err)}
	}
	return &File{root, path, text}, nil
}

// Position returns the file, line and column of an offset.
func (f *File) Position(offset int) string {
	before := f.text[:offset]
	return fmt.Sprintf("%s:%d:%d", f.path, 1+bytes.Count(before, []byte("\n")), offset-bytes.LastIndexByte(before, '\n'))
}

// Errorf returns an error that starts with a position.
func (f *File) Errorf(offset int, format string, args ...any) error {
	return fmt.Errorf("%s: %w", f.Position(offset), fmt.Errorf(format, args...))
}

// Name returns the name of a member of an object.
func Name(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// Members returns the members of an object. Another value is an error.
func (f *File) Members(v hujson.Value) ([]hujson.ObjectMember, error) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not a JSON object", f.Position(v.StartOffset))
	}
	return object.Members, nil
}

// Resolve returns the absolute form of a path in the file. Relative paths are relative to its directory.
func (f *File) Resolve(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if dir, err := filepath.Abs(filepath.Dir(f.path)); err == nil && !filepath.IsAbs(path) {
		return filepath.Join(dir, path)
	}
	return path
}
