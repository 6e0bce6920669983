// Package archtest tests the architecture of the module: the imports between packages, the
// dependencies of a program that imports one of them, the types in the public API, and the links
// and words of the documents. It exports nothing.
package archtest
