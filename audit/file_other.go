//go:build !unix

package audit

import "io/fs"

// noFollow is not there on Windows, where making a symbolic link needs a right
// of its own; Lstat sees one.
const noFollow = 0

// private and shielded accept everything: on Windows what is in a user's
// profile inherits an access list that keeps other users out, and its mode
// bits say nothing.
func private(fs.FileInfo) error  { return nil }
func shielded(fs.FileInfo) error { return nil }
