//go:build !unix

package owneronly

import "io/fs"

// On Windows, files in a user's profile inherit an access control list that
// excludes other users, and mode bits have no meaning. Creating a symbolic link
// needs a special privilege.
const (
	NoFollow = 0
	nonBlock = 0
)

// CheckOwner returns nil.
func CheckOwner(fs.FileInfo) error { return nil }

// CheckOnlyName returns nil.
func CheckOnlyName(fs.FileInfo) error { return nil }

// Private returns true.
func Private(fs.FileInfo) bool { return true }

// CheckParents returns nil.
func CheckParents(string) error { return nil }

// CheckTrusted returns nil.
func CheckTrusted(string, fs.FileInfo) error { return nil }
