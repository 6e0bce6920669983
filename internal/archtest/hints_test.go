package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/hint"
)

// libraryDirs are the directories below mcp and the program, whose errors must name no tool and no
// flag. mcp and the program add them, with internal/hint.
var libraryDirs = []string{"executor", "bridge", "policy", "internal"}

// TestHintsNameNoTools checks that the texts of the library name no tool and no flag of the
// program.
func TestHintsNameNoTools(t *testing.T) {
	names := programNames(t)
	if len(names) < 60 {
		t.Fatalf("only %d tools and flags in the documentation: %v", len(names), names)
	}
	named := regexp.MustCompile(`(^|[^\w-])(` + strings.Join(names, "|") + `)($|[^\w-])`)
	eachText(t, libraryDirs, func(at token.Position, text string) {
		if strings.Contains(text, "Running as root") { // Chromium's text
			return
		}
		if m := named.FindStringSubmatch(text); m != nil {
			t.Errorf("%s: %s names %s: name the Go method or option, and add it to internal/hint", at, text, m[2])
		}
	})
}

// untranslated are the names in texts that no user of the program sees, or that are not Go names.
var untranslated = map[string]string{
	"Google.Chrome":         "the name of a package of winget",
	"Options.CDPClients":    "the program sets it if it lets CDP clients connect",
	"Options.Policy":        "the program always sets it for a relay",
	"SessionOptions.Record": "the program sets it with the tools that need it",
}

// TestHintsAreTranslated checks that internal/hint has each Go name in the texts of the library, and no
// other name.
func TestHintsAreTranslated(t *testing.T) {
	named := regexp.MustCompile(`\b[A-Za-z]\w*\.[A-Z]\w+`)
	found := map[string]bool{}
	eachText(t, append([]string{"audit", "mcp", "ownchrome", "relay"}, libraryDirs...), func(at token.Position, text string) {
		for _, name := range named.FindAllString(text, -1) {
			found[name] = true
			if hint.Names[name] == "" && untranslated[name] == "" {
				t.Errorf("%s: %s names %s, which is not in internal/hint", at, text, name)
			}
		}
	})
	for name := range hint.Names {
		if !found[name] {
			t.Errorf("no text names %s: remove it from internal/hint", name)
		}
	}
	for name := range untranslated {
		if !found[name] || hint.Names[name] != "" {
			t.Errorf("%s is not an exception", name)
		}
	}
}

// eachText calls f for each string literal with a space in the packages below dirs, other than those
// that may name tools and flags and those for tests.
func eachText(t *testing.T, dirs []string, f func(at token.Position, text string)) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || isTestSupport(entry.Name()) || namesTools(strings.TrimPrefix(filepath.ToSlash(path), "../../"))):
				return filepath.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
					f(set.Position(lit.Pos()), lit.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// namesTools reports whether the texts of a package may name tools and flags.
func namesTools(path string) bool {
	return slices.Contains(program, path) || slices.Contains(served, path)
}

// isTestSupport reports whether a directory contains only packages for tests and the build, and the
// tables that translate hints.
func isTestSupport(dir string) bool {
	switch dir {
	case "archtest", "executortest", "gen", "hint", "leaktest", "mutation", "testing":
		return true
	}
	return strings.HasSuffix(dir, "suite")
}

// programNames returns the tools whose names are not English words, and the flags of the program.
func programNames(t *testing.T) (names []string) {
	t.Helper()
	tools := regexp.MustCompile("(?m)^#+ `?([a-z]+_[a-z_]+)`?")
	text, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range tools.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	var sources []string
	for _, dir := range program {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, files...)
	}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				names = append(names, flagOf(call)...)
			}
			return true
		})
	}
	return names
}

// flagOf returns the flag that a call of a method such as StringVar or Var defines, if any.
func flagOf(call *ast.CallExpr) []string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.Contains(method.Sel.Name, "Var") {
		return nil
	}
	for _, arg := range call.Args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			return []string{"--" + strings.Trim(lit.Value, `"`)}
		}
	}
	return nil
}
