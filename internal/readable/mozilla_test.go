package readable

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// TestMozillaPages compares the text of the markdown with the expected text of Readability's test
// pages. It requires a mean token F1 of 0.95.
func TestMozillaPages(t *testing.T) {
	tier.Slow(t)
	dirs := mozillaPages(t)
	type score struct {
		name string
		f1   float64
	}
	var scores []score
	total := 0.0
	for _, dir := range dirs {
		source, err := os.ReadFile(filepath.Join(dir, "source.html"))
		if err != nil {
			t.Fatal(err)
		}
		expected, err := os.ReadFile(filepath.Join(dir, "expected.html"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := html.Parse(strings.NewReader(string(expected)))
		if err != nil {
			t.Fatal(err)
		}
		res, err := Convert(string(source), "http://fakehost/test/page.html", Options{})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(dir), err)
			continue
		}
		f1 := tokenF1(words(withoutMarkup(res.Markdown)), words(visibleText(want)))
		total += f1
		scores = append(scores, score{filepath.Base(dir), f1})
	}
	mean := total / float64(len(dirs))
	slices.SortFunc(scores, func(a, b score) int { return int((a.f1 - b.f1) * 1e6) })
	t.Logf("mean token F1 of %d pages: %.4f", len(dirs), mean)
	for _, s := range scores[:12] {
		t.Logf("%.3f %s", s.f1, s.name)
	}
	if mean < 0.95 {
		t.Errorf("mean token F1 is %.4f, want at least 0.95", mean)
	}
}

// mozillaPages returns the directories of the test pages in the module cache, without those that
// have no expected text.
func mozillaPages(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "codeberg.org/readeck/go-readability/v2").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "test-pages", "*", "expected.html"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("%d test pages found in %s, want more than 100", len(files), out)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

var (
	imageMarkup = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	entity      = regexp.MustCompile(`&[a-z]+;`)
)

// withoutMarkup returns the text of markdown.
func withoutMarkup(md string) string {
	md = linkTarget.ReplaceAllString(imageMarkup.ReplaceAllString(md, " "), " ")
	return strings.ReplaceAll(entity.ReplaceAllStringFunc(md, html.UnescapeString), `\`, "")
}

// visibleText returns the text of a document with a space at each block element.
func visibleText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode && !isCode(d.Parent):
			b.WriteString(d.Data)
		case d.Type == html.ElementNode:
			switch d.Data {
			case "a", "b", "i", "em", "strong", "span", "sub", "sup", "code":
			default:
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// tokenF1 is the harmonic mean of precision and recall over bags of words.
func tokenF1(got, want []string) float64 {
	if len(got) == 0 && len(want) == 0 {
		return 1
	}
	count := map[string]int{}
	for _, w := range want {
		count[w]++
	}
	common := 0
	for _, w := range got {
		if count[w] > 0 {
			count[w]--
			common++
		}
	}
	if common == 0 {
		return 0
	}
	p, r := float64(common)/float64(len(got)), float64(common)/float64(len(want))
	return 2 * p * r / (p + r)
}
