package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// importedFile matches the file that a JavaScript module imports from its directory.
var importedFile = regexp.MustCompile(`(?m)^import [^@\n]*? from '\./([^']+)';`)

// TestScriptCycles checks that no JavaScript module imports itself, directly or by others.
func TestScriptCycles(t *testing.T) {
	for _, dir := range []string{"../page/js", "../../extension"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.js"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no modules in %s: %v", dir, err)
		}
		imports := map[string][]string{}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range importedFile.FindAllStringSubmatch(string(source), -1) {
				imports[filepath.Base(file)] = append(imports[filepath.Base(file)], m[1])
			}
		}
		if len(imports) == 0 {
			t.Fatalf("the modules in %s import nothing", dir)
		}
		if cycle := findCycle(imports); cycle != nil {
			t.Errorf("%s: %s", dir, strings.Join(cycle, " imports "))
		}
	}
}

// findCycle returns the nodes of a cycle, the first one again at the end, or nil.
func findCycle(next map[string][]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(node string) []string
	visit = func(node string) []string {
		if at := slices.Index(path, node); at >= 0 {
			return append(slices.Clone(path[at:]), node)
		}
		if done[node] {
			return nil
		}
		done[node] = true
		path = append(path, node)
		for _, n := range next[node] {
			if cycle := visit(n); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		return nil
	}
	for node := range next {
		if cycle := visit(node); cycle != nil {
			return cycle
		}
	}
	return nil
}
