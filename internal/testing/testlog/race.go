//go:build race

package testlog

// RaceEnabled reports whether the race detector is on: it makes code slower and
// its memory larger.
const RaceEnabled = true
