// Package timing has the durations that decide results: how long the product waits before it
// returns what it knows, and how long something may take to respond before the product continues
// without it.
//
// Durations on which no result depends are constants where they are used: intervals of polls,
// lifetimes of stored records, idle timeouts, rate limits, and what a protocol or an MCP host
// prescribes.
package timing

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A Timing has all durations that decide results. It is a value: what is constructed with one keeps
// its copy. Timings can be compared; the zero Timing is not valid, so that it can mean a default.
type Timing struct {
	Patience
	HangLimits
}

// Default returns the durations of the shipped programs.
func Default() Timing { return Timing{defaultPatience(), defaultHangLimits()} }

// ScaleHangLimits returns t with hang limits that are by times as long. A slow machine then causes
// no other result than a fast one.
func (t Timing) ScaleHangLimits(by int) Timing {
	scale(reflect.ValueOf(&t.HangLimits).Elem(), int64(by))
	return t
}

// scale multiplies a duration, or those in a struct.
func scale(v reflect.Value, by int64) {
	if v.Kind() != reflect.Struct {
		v.SetInt(v.Int() * by)
		return
	}
	for i := range v.NumField() {
		scale(v.Field(i), by)
	}
}

// forTests has the durations of this process that differ from the default ones: the factor of the hang
// limits, and values of Patience by name. It is empty in the shipped programs. A test binary sets the
// factor with ScaleForTests, and a program that a test builds has both from the linker:
//
//	-ldflags "-X github.com/chrome-mcp/chrome-mcp/internal/timing.forTests=5,ProfileInUse=1s"
var forTests string

// ScaleForTests multiplies the hang limits that Current returns. A TestMain calls it before anything
// is constructed.
func ScaleForTests(by int) { forTests = strconv.Itoa(by) }

// Scale returns the factor of the hang limits in this process.
func Scale() int {
	factor, _, _ := strings.Cut(forTests, ",")
	by, err := strconv.Atoi(factor)
	if err != nil || by < 1 {
		return 1
	}
	return by
}

// Current returns the durations of this process: the default ones, with scaled hang limits and shorter
// patience in tests. Constructors copy them.
func Current() Timing {
	t := Default().ScaleHangLimits(Scale())
	_, patience, _ := strings.Cut(forTests, ",")
	for setting := range strings.SplitSeq(patience, ",") {
		if setting == "" {
			continue
		}
		name, value, _ := strings.Cut(setting, "=")
		field := reflect.ValueOf(&t.Patience).Elem().FieldByName(name)
		d, err := time.ParseDuration(value)
		if err != nil || !field.IsValid() {
			panic("timing: invalid setting " + strconv.Quote(setting))
		}
		field.SetInt(int64(d))
	}
	return t
}
