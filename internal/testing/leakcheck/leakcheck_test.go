package leakcheck

import (
	"os"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/gotest"
)

// fakeTests are tests that return an exit code.
type fakeTests func() int

func (f fakeTests) Run() int { return f() }

// TestRun checks that a leak is reported, also after a failed test, so that the test is not run again.
func TestRun(t *testing.T) {
	end := make(chan bool)
	defer close(end)
	leak := func() { go func() { <-end }() }
	for _, c := range []struct {
		name       string
		tests      fakeTests
		code       int
		unreported bool
	}{
		{"pass", func() int { return 0 }, 0, true},
		{"failure", func() int { return 1 }, 1, true},
		{"failure and leak", func() int { leak(); return 2 }, 2, false},
		{"leak", func() int { return 0 }, 1, false},
	} {
		out, err := os.Create(t.TempDir() + "/stderr")
		if err != nil {
			t.Fatal(err)
		}
		old := os.Stderr
		os.Stderr = out
		code := Run(c.tests)
		os.Stderr = old
		out.Close()
		text, _ := os.ReadFile(out.Name())
		if code != c.code || gotest.Unrepeatable.Match(text) == c.unreported {
			t.Errorf("%s: code %d, output\n%s", c.name, code, text)
		}
	}
}
