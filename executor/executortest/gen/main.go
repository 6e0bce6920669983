// Gen writes the list of what the suite holds a backend to, for people.
//
//	gen FILE
package main

import (
	"bytes"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor/executortest"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	if err := os.WriteFile(os.Args[1], document(executortest.Behaviours()), 0o644); err != nil {
		log.Fatal(err)
	}
}

// document returns the list as Markdown.
func document(all []executortest.Behaviour) []byte {
	var b bytes.Buffer
	deep := 0
	for _, c := range all {
		if c.Torture {
			deep++
		}
	}
	fmt.Fprintf(&b, `# What is tested in a real browser

Each line is a case that runs in Chromium, on a page of
[executortest/testdata](../executor/executortest/testdata), and is proved by
what the page itself reports: %d cases that any backend must pass
(`+"`executortest.Run`"+`), and %d that go into the details of pages (**+**, `+"`executortest.Torture`"+`;
`+"`go test ./internal/page -run Torture -v`"+` runs them and prints this list with times).

This file is generated: `+"`make generate`"+`.
`, len(all)-deep, deep)
	fmt.Fprint(&b, "\nTabs of the user's own Chrome, driven through the extension, pass all of them")
	for i, name := range slices.Sorted(maps.Keys(executortest.ExtensionExceptions)) {
		if i == 0 {
			fmt.Fprint(&b, " but these:\n\n")
		}
		fmt.Fprintf(&b, "* %s: %s\n", name, executortest.ExtensionExceptions[name])
	}
	if len(executortest.ExtensionExceptions) == 0 {
		fmt.Fprint(&b, ".\n")
	}
	about := ""
	for _, c := range all {
		if c.About != about {
			about = c.About
			fmt.Fprintf(&b, "\n## %s\n\n", about)
		}
		mark := ""
		if c.Torture {
			mark = "**+** "
		}
		page := ""
		if c.Page != "" {
			file, _, _ := strings.Cut(c.Page, "?")
			page = fmt.Sprintf(" · [%[1]s](../executor/executortest/testdata/%[1]s)", file)
		}
		fmt.Fprintf(&b, "* %s%s%s\n", mark, c.Case, page)
	}
	return b.Bytes()
}
