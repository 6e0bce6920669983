package mutation

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestMutationsApply checks that each mutation applies to the code.
func TestMutationsApply(t *testing.T) {
	for _, m := range All() {
		text, err := os.ReadFile(filepath.Join(root, m.File))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(text), m.Old); m.Old == "" || n != 1 {
			t.Errorf("%s: %q occurs %d times, want once", m.File, m.Old, n)
		}
		if m.Old == m.New {
			t.Errorf("%s: %q is not changed", m.File, m.Old)
		}
		if _, err := os.Stat(filepath.Join(root, m.Package)); err != nil {
			t.Error(err)
		}
		if _, err := regexp.Compile(m.Test); err != nil {
			t.Errorf("%s: %v", m.File, err)
		}
	}
}

// promise matches a row of the tables under "Tests" in SECURITY.md.
var promise = regexp.MustCompile(`(?m)^\| (.+?) \| .+ \|$`)

// TestEveryPromiseHasAMutation compares the mutations with the promises of
// SECURITY.md.
func TestEveryPromiseHasAMutation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, proofs, ok := strings.Cut(string(text), "\n## Tests\n")
	if !ok {
		t.Fatal("SECURITY.md has no section \"Tests\"")
	}
	rows := map[string]int{}
	for _, row := range promise.FindAllStringSubmatch(proofs, -1) {
		if row[1] != "promise" && !strings.HasPrefix(row[1], "---") {
			rows[row[1]] = 0
		}
	}
	for _, m := range All() {
		matches := 0
		for row := range rows {
			if strings.HasPrefix(row, m.Promise) {
				rows[row]++
				matches++
			}
		}
		if matches != 1 {
			t.Errorf("%s: %d promises of SECURITY.md begin with %q, want 1", m.File, matches, m.Promise)
		}
	}
	for row, n := range rows {
		if n == 0 {
			t.Errorf("no mutation removes the protection %q", row)
		}
	}
}
