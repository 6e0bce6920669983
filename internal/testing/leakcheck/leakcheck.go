// Package leakcheck runs the tests of a package and fails if they leak goroutines.
package leakcheck

import (
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// Run runs the tests of a TestMain and returns the exit code. If goroutines are left, it prints them,
// and the code is not 0. Unlike goleak.VerifyTestMain, it also prints them if a test has failed: that
// test may pass when it is run again alone, and the leak is then not seen.
func Run(m interface{ Run() int }) (code int) {
	code = m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "leaked goroutines:", err)
		code = max(code, 1)
	}
	return code
}
