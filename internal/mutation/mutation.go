// Package mutation lists, for each protection that SECURITY.md promises, a small
// code change that removes it and the tests that must then fail.
package mutation

// A Mutation removes one protection from the code.
type Mutation struct {
	// Promise is the beginning of the promise in SECURITY.md.
	Promise string
	// File is the file that is changed, relative to the root of the module.
	File string
	// Old is a text that occurs exactly once in File. New replaces it.
	Old, New string
	// Package is the package whose tests must fail, such as "./policy", or
	// "extension/test" for the JavaScript tests of the extension.
	Package string
	// Test is the -run pattern, or the name pattern of the JavaScript tests.
	Test string
}

// All returns every mutation.
func All() []Mutation {
	var all []Mutation
	for _, list := range [][]Mutation{general, screenshots, input, extensionNetwork, attached, resources, pageText, consent, paths, server, serverHTTP} {
		all = append(all, list...)
	}
	return all
}
