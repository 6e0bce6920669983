package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/leaktest"
)

const (
	matrixBegin = "<!-- leaks: generated, see internal/leaktest -->\n"
	matrixEnd   = "<!-- /leaks -->\n"
)

// writeEgressMatrix writes the network egress test matrix into the document name,
// between the two markers.
func writeEgressMatrix(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), matrixBegin)
	_, after, there := strings.Cut(rest, matrixEnd)
	if !ok || !there {
		return fmt.Errorf("%s has no %q and %q", name, matrixBegin, matrixEnd)
	}
	table, err := tables()
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(before+matrixBegin+"\n"+table+"\n"+matrixEnd+after), 0o644)
}

// tables returns the tables as Markdown.
func tables() (string, error) {
	published, err := leaktest.PublishedResults()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	names := map[string]string{"chromium": "managed browser", "attached": "attached browser, in our own browser context", "extension": "user's own Chrome"}
	for _, backend := range leaktest.Backends {
		fires := 0
		for _, r := range leaktest.Routes() {
			if published[backend][r.Name][leaktest.NoEnforcement] == "fires" {
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
			for _, tier := range []leaktest.Tier{leaktest.NoEnforcement, leaktest.Same, leaktest.Public, leaktest.Private} {
				cell := published[backend][r.Name][tier]
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
		var items []string
		for _, reason := range order {
			items = append(items, strings.Join(why[reason], ", ")+": "+reason)
		}
		writeList(&b, "Not enforced in the "+names[backend], items)
	}
	var untried []string
	for _, r := range leaktest.Routes() {
		fires := slices.ContainsFunc(leaktest.Backends, func(backend string) bool {
			return published[backend][r.Name][leaktest.NoEnforcement] == "fires"
		})
		switch {
		case r.Untried() != "":
			untried = append(untried, r.Name+": "+r.Untried())
		case !fires:
			untried = append(untried, r.Name+": it does not fire without a policy")
		}
	}
	writeList(&b, "Not tested in any browser", untried)
	return b.String(), nil
}

// writeList writes a list after a line about it, wrapped at 100 columns, unless the list is empty.
func writeList(b *bytes.Buffer, about string, items []string) {
	const columns = 100
	if len(items) > 0 {
		b.WriteString("\n" + about + ":\n\n")
	}
	for _, item := range items {
		line := "*"
		for word := range strings.FieldsSeq(item) {
			if len(line)+1+len(word) > columns {
				b.WriteString(line + "\n")
				line = " "
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
}
