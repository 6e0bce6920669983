// Package patherror shortens the errors of package os for callers that name the file themselves.
package patherror

import (
	"errors"
	"io/fs"
	"os"
)

// Cause returns the system's error in a *fs.PathError or *os.LinkError, without the operation and the
// path. It returns other errors unchanged.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
