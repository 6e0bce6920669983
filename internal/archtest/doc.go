// Package house holds the tests that keep the house in order: which package
// may import which, that an embedder pays only for what it names, and that no
// type of the browser protocol's bindings shows in the public API. It exports
// nothing.
package archtest
