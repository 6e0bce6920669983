// Package prompting asks the user for permissions that a call lacks, in the extension popup or in a
// form of the client.
package prompting
