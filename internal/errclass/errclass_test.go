package errclass

import (
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor/errs"
)

var (
	row  = regexp.MustCompile(`(?m)^\| ([0-9]+) \| (.*) \|$`)
	code = regexp.MustCompile("`([A-Z_]+)`")
)

// documented returns the numbers of the codes in the table of a document.
func documented(t *testing.T, document string) map[errs.Code]int {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[errs.Code]int{}
	for _, line := range row.FindAllStringSubmatch(string(text), -1) {
		number, err := strconv.Atoi(line[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range code.FindAllStringSubmatch(line[2], -1) {
			if _, ok := numbers[errs.Code(found[1])]; ok {
				t.Errorf("%s lists %s twice", document, found[1])
			}
			numbers[errs.Code(found[1])] = number
		}
	}
	return numbers
}

// TestClasses checks that each code has the exit code and the status in the documentation.
func TestClasses(t *testing.T) {
	exits, statuses := documented(t, "../../docs/cli.md"), documented(t, "../../docs/rest.md")
	if len(exits) == 0 || len(statuses) == 0 {
		t.Fatalf("the documentation lists %d exit codes and %d statuses", len(exits), len(statuses))
	}
	for _, code := range errs.Codes() {
		want := Class{ExitFailed, http.StatusUnprocessableEntity} // of the codes that are not listed
		if exit, ok := exits[code]; ok {
			want.Exit = exit
		}
		if status, ok := statuses[code]; ok {
			want.Status = status
		}
		if got := Of(code); got != want {
			t.Errorf("%s has %+v, documented is %+v", code, got, want)
		}
		delete(exits, code)
		delete(statuses, code)
	}
	if len(exits)+len(statuses) > 0 {
		t.Errorf("the documentation lists unknown codes: %v, %v", exits, statuses)
	}
}
