package extension

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	tableRow = regexp.MustCompile(`(?m)^  '([A-Z][A-Za-z]+\.[a-z][A-Za-z]+)': (?:free|content|granted|\(|[a-z])`)
	sent     = regexp.MustCompile(`(?:\b(?:Call|Start|command|answers)\([^"\n]*|\{)"([A-Z][A-Za-z]+\.[a-z][A-Za-z]+)", `)
	typed    = regexp.MustCompile(`\b(dom|runtime|input|network|emulation|cdppage)\.Command([A-Z][A-Za-z]+)\b`)
)

// managedOnly contains the commands that package page does not send to a user's
// Chrome, and why the extension denies them.
var managedOnly = map[string]string{
	"Fetch.fulfillRequest":           "a server could replace a site's responses",
	"Fetch.continueWithAuth":         "the user answers requests for passwords",
	"WebAuthn.enable":                "the user's passkeys stay in use",
	"WebAuthn.disable":               "the user's passkeys stay in use",
	"Page.bringToFront":              "the extension shows a tab only with the question of a handover",
	"Network.getResponseBody":        "the site of a response is unknown",
	"Emulation.setCPUThrottlingRate": "other tabs may share the process",
	"Emulation.setLocaleOverride":    "other tabs may share the process",
	"Emulation.setTimezoneOverride":  "other tabs may share the process",
	"Storage.overrideQuotaForOrigin": "it is for shared browsers, which store everything in memory",
}

// TestCommandTable finds the commands in the source of internal/page. One that is
// missing in methods.js would only fail in a user's Chrome.
func TestCommandTable(t *testing.T) {
	table := map[string]bool{}
	for _, m := range tableRow.FindAllStringSubmatch(string(read(t, "methods.js")), -1) {
		table[m[1]] = true
	}
	domains := map[string]string{"dom": "DOM", "runtime": "Runtime", "input": "Input", "network": "Network", "emulation": "Emulation", "cdppage": "Page"}
	files, err := filepath.Glob("../internal/page/*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sent.FindAllStringSubmatch(string(data), -1) {
			used[m[1]] = true
		}
		for _, m := range typed.FindAllStringSubmatch(string(data), -1) {
			used[domains[m[1]]+"."+strings.ToLower(m[2][:1])+m[2][1:]] = true
		}
	}
	if len(used) < 20 || len(table) < 40 {
		t.Fatalf("found %d commands and %d rows", len(used), len(table))
	}
	for method := range used {
		if why := managedOnly[method]; why != "" {
			if table[method] {
				t.Errorf("the extension allows %s, but %s", method, why)
			}
			continue
		}
		if !table[method] {
			t.Errorf("package page sends %s, which the extension denies", method)
		}
	}
}
