// Package mutation lists, for each protection that SECURITY.md promises, a small
// code change that removes it and the tests that must then fail.
package mutation

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
)

// A Mutation removes one protection from the code.
type Mutation struct {
	// Promise is the beginning of the promise in SECURITY.md.
	Promise string
	// File is the file that is changed, relative to the root of the module.
	File string
	// Old is a text that occurs exactly once in File. New replaces it.
	Old, New string
	// Package is the package whose tests must fail, such as "./policy", or
	// "extension/test" for the JavaScript tests of the extension. The default
	// is the package of File.
	Package string
	// Test is the -run pattern, or the name pattern of the JavaScript tests.
	Test string
}

// jsTests is the Package of the JavaScript tests of the extension.
const jsTests = "extension/test"

// Name returns a name of the mutation, which changes with it.
func (m Mutation) Name() string {
	return fmt.Sprintf("%s:%.3x", m.File, sha256.Sum256(fmt.Appendf(nil, "%q", m)))
}

// promises are mutations without a Promise, by their promise.
type promises map[string][]Mutation

// List returns every mutation.
func List() []Mutation {
	all := slices.Concat(general, paths)
	for _, list := range []promises{screenshots, input, extensionNetwork, attached, resources, pageText, consent, server, serverHTTP, tokens, cdpEndpoint, secrets, handovers, dashboard, sidePanel, commands} {
		for _, promise := range slices.Sorted(maps.Keys(list)) {
			for _, m := range list[promise] {
				m.Promise = promise
				m.Package = cmp.Or(m.Package, testsOf(m.File))
				all = append(all, m)
			}
		}
	}
	return all
}

// testsOf returns the package with the tests of a file.
func testsOf(file string) string {
	if path.Dir(file) == "extension" {
		return jsTests
	}
	return "./" + path.Dir(file)
}
