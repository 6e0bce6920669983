//go:build !unix

package tier

import "testing"

// takeSlot does nothing: the tests of a package run one at a time, and go test limits the packages.
func takeSlot(testing.TB) {}
