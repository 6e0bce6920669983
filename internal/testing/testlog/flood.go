package testlog

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

const (
	floodLength = 1_000_000
	floodMemory = 64 << 20
)

// FloodLength returns the number of repetitions in a text of [Floods]: a million in deep tests without
// the race detector, which makes code ten times slower, and otherwise a tenth of that.
func FloodLength() int {
	if tier.DeepEnabled() && !RaceEnabled {
		return floodLength
	}
	return floodLength / 10
}

// floods are the texts that Floods repeats.
var floods = append(strings.Split("!\"#$%&'()*+,-./0:;<=>?@[\\]^_`a{|}~ \t\n\r\x00\x01\x07\x1b\x7f", ""),
	"\u00e9", "\u200b", "\u202e", "\u2028", "\ufeff", "\U0001f44d", "\xff",
	"<a ", "![", "](", "[]", "[](", "<!--", "-->", "&#", "&a", "</", "<b>", "<div>", "<p>", "<li>", "<td>", "\n\n", "\r\n", "- ", "1.", "```", "\x1b[", "\x1b]",
	"//", "://", "%2f", "..", "../", "a=", "; ", "*.", "\\u", "\\\"", "[[", "{\"", "e1 ")

// fewFloods are the texts of landing tests: those for which a parser looks back or ahead.
var fewFloods = []string{"a", "[", "<", "\"", "\\", "%", "..", "*.", "&#", "\n", "\x1b]", "\xff"}

// Floods calls f with FloodLength repetitions of each text that is special to a parser, or in landing
// tests of a few of them. It fails the test if the heap then contains more than 64 MiB, or if f takes
// too much CPU time, including that of child processes that have exited: ten seconds in deep tests
// without the race detector. In others, only time that is far from linear exceeds the limit, on any
// machine.
func Floods(t *testing.T, f func(text string)) {
	t.Helper()
	units, length, limit := fewFloods, FloodLength(), await.HangLimit
	if tier.DeepEnabled() && !RaceEnabled {
		units, limit = floods, 10*time.Second
	}
	for _, unit := range units {
		text := strings.Repeat(unit, length)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := processorTime(t)
		f(text)
		took := processorTime(t) - start
		runtime.GC()
		runtime.ReadMemStats(&after)
		if took > limit {
			t.Errorf("%q repeated %d times took %v, more than %v", unit, length, took, limit)
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > floodMemory {
			t.Errorf("%q repeated %d times left %d MiB", unit, length, grown>>20)
		}
	}
}

// processorTime returns the CPU time of this process and of its children that
// exited.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	self, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	times, err := self.Times()
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration((times.User+times.System)*1e9) + childrenTime(t)
}
