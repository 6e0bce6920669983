package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestDocumentLinksResolve follows the relative links of all documents.
func TestDocumentLinksResolve(t *testing.T) {
	const root = "../.."
	documents := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" || path != root && strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		documents++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), found[1])); err != nil {
				t.Errorf("%s links to %s: %v", path, found[1], err)
			}
		}
		return nil
	})
	if err != nil || documents == 0 {
		t.Errorf("read %d documents: %v", documents, err)
	}
}
