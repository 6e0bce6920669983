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
	sent     = regexp.MustCompile(`(?:(?:\b(?:Call|CallWithin|Start|Command|answers)\([^"\n]*|\{)"|[Mm]ethod(?:: |, params := | = )")([A-Z][A-Za-z]+\.[a-z][A-Za-z]+)"(?:, |\}|,?\n)`)
	typed    = regexp.MustCompile(`\b(?:cdp)?([a-z]+)\.Command([A-Z][A-Za-z]+)\b`)
)

// domains maps packages of cdproto to their domains.
var domains = map[string]string{
	"accessibility": "Accessibility", "dom": "DOM", "domdebugger": "DOMDebugger", "emulation": "Emulation", "fetch": "Fetch",
	"input": "Input", "network": "Network", "page": "Page", "runtime": "Runtime", "target": "Target",
}

// pagePackages are the packages that send commands to pages.
var pagePackages = []string{
	"capture", "dialogs", "elements", "emulate", "entered", "evaluate", "frames", "input", "interception", "live", "logflood", "page",
	"reading", "record", "session", "shield", "sitedata",
}

// managedOnly contains the commands that are not sent to a user's Chrome, and why the extension denies
// them.
var managedOnly = map[string]string{
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

// TestCommandTable finds the commands in the source of the packages that send them. One that is
// missing in methods.js would only fail in a user's Chrome.
func TestCommandTable(t *testing.T) {
	table := map[string]bool{}
	for _, m := range tableRow.FindAllStringSubmatch(string(read(t, "methods.js")), -1) {
		table[m[1]] = true
	}
	var files []string
	for _, dir := range pagePackages {
		found, err := filepath.Glob("../internal/" + dir + "/*.go")
		if err != nil || len(found) == 0 {
			t.Fatalf("files of %s: %v, %v", dir, found, err)
		}
		files = append(files, found...)
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
			domain := domains[m[1]]
			if domain == "" {
				t.Errorf("%s: the domain of package %s is not known", name, m[1])
			}
			used[domain+"."+strings.ToLower(m[2][:1])+m[2][1:]] = true
		}
	}
	if len(used) < 50 || len(table) < 80 {
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
			t.Errorf("a package sends %s, which the extension denies", method)
		}
	}
}
