package gotest

import "regexp"

// An Event is one event of go test -json. See go doc test2json.
type Event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// Unrepeatable matches the first line of what a test binary prints when it found something that a
// second run of one test would hide. The Go runtime prints the first three; the others are printed
// by a TestMain that found a leak, such as by package leakcheck.
var Unrepeatable = regexp.MustCompile(`^(panic: |fatal error: |WARNING: DATA RACE|goleak: |leaked[ :])`)
