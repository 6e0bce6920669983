package outline_test

import (
	"os"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/outline"
)

// TestReadmeExamples renders the outline and the diff in docs/using-tools.md.
func TestReadmeExamples(t *testing.T) {
	readme, err := os.ReadFile("../../docs/using-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	// example returns the text in the fence of the example called name.
	example := func(name string) string {
		_, s, ok := strings.Cut(string(readme), "<!-- "+name+":begin -->")
		_, s, ok2 := strings.Cut(s, "<page k7f3q2 http://localhost:8080>\n")
		s, _, ok3 := strings.Cut(s, "</page k7f3q2>")
		if !ok || !ok2 || !ok3 {
			t.Fatalf("example %s not found in docs/using-tools.md", name)
		}
		return s
	}
	checkout := func(gift, pay string) *outline.Document {
		doc := parse(t, "d", `
heading "Checkout"
textbox "Email" #3 =ann@example.com
checkbox "Gift wrap" #5 `+gift+`
button "Pay" #6 `+pay+`
iframe "Card details" #7
iframe "Advertisement" #9`)
		doc.Title, doc.URL = "Checkout", "http://localhost:8080/checkout"
		doc.Roots[0].Level = 1
		doc.Node(3).Flags |= outline.Required
		doc.Node(9).Denied = true
		doc.Graft(7, parse(t, "child", `textbox "Card number" #8`))
		return doc
	}
	before, after := checkout("@checked", "@disabled"), checkout("", "")
	want(t, example("snapshot"), render(t, before, outline.Options{}).Text)
	want(t, example("diff"), outline.Diff(before, after, outline.DiffOptions{RefOf: byID}).Text)
}
