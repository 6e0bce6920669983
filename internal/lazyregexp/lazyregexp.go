// Package lazyregexp compiles regular expressions when they are first used, so that those of
// package variables cost a program neither time nor memory at its start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr at its first call and returns the same
// [regexp.Regexp] at each call. It panics if expr is invalid. It is safe for concurrent use.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
