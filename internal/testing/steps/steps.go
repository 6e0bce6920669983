// Package steps runs the steps of a test whose steps depend on each other.
package steps

import "testing"

// Run runs a step of a test that starts in the state that the steps before it left. The test ends when
// a step fails. A step is not a subtest, because a subtest that fails is run again alone. t.Cleanup in
// a step registers with the test.
func Run(t *testing.T, name string, step func(t *testing.T)) {
	t.Helper()
	t.Log("step:", name)
	step(t)
	if t.Failed() {
		t.FailNow()
	}
}
