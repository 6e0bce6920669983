// Gen writes the table of what leaves a page into a document, between the
// lines that mark it.
//
//	gen FILE
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/policy/leaktest"
)

const (
	begin = "<!-- leaks: generated, see policy/leaktest -->\n"
	end   = "<!-- /leaks -->\n"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, there := strings.Cut(rest, end)
	if !ok || !there {
		log.Fatalf("%s has no %q and %q", os.Args[1], begin, end)
	}
	table, err := tables()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], []byte(before+begin+"\n"+table+"\n"+end+after), 0o644); err != nil {
		log.Fatal(err)
	}
}

// tables returns the tables as Markdown.
func tables() (string, error) {
	told, err := leaktest.Told()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	names := map[string]string{"chromium": "managed browser", "attached": "attached browser, in our own browser context", "extension": "user's own Chrome"}
	for _, backend := range leaktest.Backends {
		fires := 0
		for _, r := range leaktest.Routes() {
			if told[backend][r.Name][leaktest.Off] == "fires" {
				fires++
			}
		}
		fmt.Fprintf(&b, "In the %s %d of %d routes fire without a policy.\n\n", names[backend], fires, len(leaktest.Routes()))
	}
	b.WriteString("| route | what it is | managed: no policy | `same` | `public` | private | attached: no policy | `same` | `public` | private | own Chrome: no policy | `same` | `public` | private |\n")
	b.WriteString("| --- | --- |" + strings.Repeat(" --- |", 4*len(leaktest.Backends)) + "\n")
	for _, r := range leaktest.Routes() {
		fmt.Fprintf(&b, "| %s | %s ", r.Name, r.Kind)
		for _, backend := range leaktest.Backends {
			for _, wall := range []leaktest.Wall{leaktest.Off, leaktest.Same, leaktest.Public, leaktest.Private} {
				cell := told[backend][r.Name][wall]
				if cell == "passes" {
					cell = "**passes**"
				}
				fmt.Fprintf(&b, "| %s ", cell)
			}
		}
		b.WriteString("|\n")
	}
	for _, backend := range leaktest.Backends {
		why := map[string][]string{}
		var order []string
		for _, r := range leaktest.Routes() {
			if reason := r.Open(backend); reason != "" {
				if why[reason] == nil {
					order = append(order, reason)
				}
				why[reason] = append(why[reason], r.Name)
			}
		}
		for i, reason := range order {
			if i == 0 {
				fmt.Fprintf(&b, "\nNot held in the %s:\n\n", names[backend])
			}
			fmt.Fprintf(&b, "* %s: %s\n", strings.Join(why[reason], ", "), reason)
		}
	}
	for i, r := range untried() {
		if i == 0 {
			b.WriteString("\nNot tested in any browser:\n\n")
		}
		fmt.Fprintf(&b, "* %s: %s\n", r.Name, r.Untried())
	}
	return b.String(), nil
}

// untried returns the routes that no test can take.
func untried() (routes []leaktest.Route) {
	for _, r := range leaktest.Routes() {
		if r.Untried() != "" {
			routes = append(routes, r)
		}
	}
	return routes
}
