//go:build !unix

package upload

// nonBlocking is not needed: folders have no pipes.
const nonBlocking = 0
