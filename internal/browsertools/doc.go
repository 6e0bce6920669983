// Package browsertools has the tools that work on a browser or on one of its pages: their arguments,
// what they do on an executor, and their results, which render themselves as text.
package browsertools
