package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/chrome-mcp/chrome-mcp"

// layers lists the packages of this module from top to bottom. A package imports only packages of
// lower layers. "x/..." also matches the packages in directory x.
var layers = [][]string{
	{"cmd/...", "examples/...", "npm"},
	{"internal/doctor", "internal/nativehost", "internal/readcmd", "internal/serve", "internal/setupcmd", "internal/skillcmd"},
	{"internal/client"},
	{"internal/compose"},
	{"internal/agentcmd", "internal/auditcmd", "internal/cdpendpoint", "internal/dashboardcmd", "internal/extinstall", "internal/profilecmd", "internal/secretcmd"},
	{"internal/cli", "internal/rest"},
	{"mcp/...", "internal/server", "internal/dashboard", "internal/namedbrowser", "internal/profilelease", "internal/sessiondir", "internal/sidepanel"},
	{"internal/browsertools"},
	{"internal/mcptransport", "internal/prompting", "internal/toolschema"},
	{"internal/mcptext"},
	{"relay", "ownchrome", "internal/testing/cdpsuite"},
	{"internal/leaktest/..."},
	{"policy/..."},
	{"internal/testing/suites"},
	{"internal/executortest", "internal/input/inputsuite", "internal/page/pagesuite", "internal/reading/readingsuite", "internal/testing/userbrowser/..."},
	{"internal/testing/managed"},
	{"executor/chromium/...", "executor/extension/..."},
	{"internal/session/..."},
	{"internal/page/...", "internal/chat"},
	{"internal/live", "internal/input"},
	{"internal/capture"},
	{"internal/reading"},
	{"internal/evaluate", "internal/hitcheck", "internal/interception", "internal/logflood"},
	{"internal/attach", "internal/dialogs", "internal/elements", "internal/emulate", "internal/entered", "internal/launch", "internal/record", "internal/shield", "internal/sitedata"},
	{"internal/testing/frametest", "internal/testing/suite"},
	{"internal/agents", "internal/testing/acpagent/...", "internal/testing/browserless", "internal/testing/cdptest", "internal/testing/handovertest", "internal/testing/pagesite", "internal/testing/pagetest", "internal/testing/panelport"},
	{"internal/egress/...", "internal/cdpshare", "internal/deadline", "internal/frames", "internal/readable/...", "internal/outline/...", "internal/obstacle/...", "internal/upload/...", "internal/cookie/...", "internal/statefile/...", "internal/secrets/...", "internal/handover", "internal/keys", "internal/pointerstate", "internal/fieldvalue", "internal/browsers", "internal/profiles", "extension/..."},
	{"executor", "bridge/...", "internal/download/...", "internal/deniedscripts", "internal/script", "internal/chromefortesting"},
	{"internal/cdpconn/...", "internal/transcript", "internal/wire/...", "internal/hint", "internal/errclass", "internal/redact", "internal/urlglob"},
	{"executor/errs", "internal/notify", "internal/typo", "internal/pagetext", "internal/testing/testlog", "internal/processid"},
	{"internal/fileserver"},
	{"audit", "internal/hostconfig", "internal/child", "internal/filelock", "internal/configfile", "internal/connlimit", "internal/keylimit", "internal/logging", "internal/nativemessage", "internal/testing/leakcheck", "internal/testing/tier"},
	{"internal/owneronly", "internal/lazyregexp", "internal/patherror", "internal/phrase", "internal/testing/await", "internal/testing/gotest", "internal/testing/rawmcp", "internal/testing/steps", "internal/timing"},
}

// program lists the packages of the program, which have its commands and flags.
var program = []string{
	"cmd/chrome-mcp", "internal/agentcmd", "internal/auditcmd", "internal/cdpendpoint", "internal/cli", "internal/client", "internal/compose", "internal/dashboardcmd", "internal/doctor",
	"internal/extinstall", "internal/nativehost", "internal/profilecmd", "internal/readcmd", "internal/secretcmd", "internal/serve", "internal/setupcmd", "internal/skillcmd",
}

// served lists the packages below mcp of which it consists. Like mcp, they name tools and arguments.
var served = []string{"internal/browsertools", "internal/mcptext", "internal/mcptransport", "internal/prompting", "internal/toolschema"}

// exempt packages contain tests or generators, and belong to no layer.
var exempt = []string{"internal/archtest", "internal/deeptest", "internal/landing", "internal/mutation", "internal/gen"}

type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

// list runs go list over all packages of the module.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,Deps"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// match reports whether pattern matches path, which is relative to the module.
func match(pattern, path string) bool {
	dir, deep := strings.CutSuffix(pattern, "/...")
	return path == dir || deep && strings.HasPrefix(path, dir+"/")
}

// layer returns the layer of a package of the module, counted from the top,
// or -1.
func layer(path string) int {
	return slices.IndexFunc(layers, func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
	})
}

// mayImport returns the reason why a package of the module may not import another one, or "".
func mayImport(from, to string) string {
	a, b := layer(from), layer(to)
	switch {
	case b < 0 && !slices.Contains(exempt, to):
		return "is in no layer: add it to layers"
	case a < b:
		return ""
	case a > b:
		return "is above it"
	}
	for _, pattern := range layers[a] {
		if strings.HasSuffix(pattern, "/...") && match(pattern, from) && match(pattern, to) {
			return "" // such as a package and its internal packages
		}
	}
	return "is in the same layer"
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range list(t, module+"/...") {
		from := strings.TrimPrefix(p.ImportPath, module+"/")
		if slices.Contains(exempt, from) {
			continue
		}
		if layer(from) < 0 {
			t.Errorf("%s is in no layer: add it to layers", from)
			continue
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours {
				continue
			}
			if why := mayImport(from, to); why != "" {
				t.Errorf("%s imports %s, which %s", from, to, why)
			}
		}
	}
}

func TestMayImport(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"cmd/chrome-mcp", "internal/doctor", true},
		{"internal/client", "internal/compose", true},
		{"internal/compose", "internal/client", false},
		{"internal/doctor", "internal/serve", false},
		{"internal/cli", "mcp", true},
		{"internal/server", "internal/cli", false},
		{"mcp", "policy", true},
		{"mcp", "internal/rest", false},
		{"executor/chromium", "internal/page", true},
		{"internal/page", "internal/page/js", true},
		{"internal/page", "internal/frames", true},
		{"internal/frames", "internal/page", false},
		{"policy", "executor", true},
		{"policy", "mcp", false},
		{"executor", "internal/page", false},
		{"internal/cdpconn", "executor", false},
		{"bridge", "executor", false},
		{"internal/cdpconn", "internal/page", false},
		{"executor/chromium", "executor/extension", false},
		{"policy", "somewhere", false},
	} {
		if why := mayImport(tt.from, tt.to); (why == "") != tt.ok {
			t.Errorf("mayImport(%q, %q) = %q, want ok %v", tt.from, tt.to, why, tt.ok)
		}
	}
}

// TestExecutorIsStandardLibraryOnly checks that the packages that implement or call the contract
// get no other dependency from it.
func TestExecutorIsStandardLibraryOnly(t *testing.T) {
	for _, p := range list(t, "-deps", module+"/executor") {
		if !p.Standard && !slices.Contains([]string{module + "/executor", module + "/executor/errs", module + "/internal/timing"}, p.ImportPath) {
			t.Errorf("executor depends on %s", p.ImportPath)
		}
	}
}

// TestDependencyBoundaries checks that only some packages depend on the large modules.
func TestDependencyBoundaries(t *testing.T) {
	payers := map[string][]string{
		"github.com/modelcontextprotocol/go-sdk": append([]string{"cmd/...", "examples/...", "mcp/...", "internal/mcptransport", "internal/prompting", "internal/rest"}, program...),
		"github.com/spf13/cobra":                 program,
		"github.com/spf13/pflag":                 program,
		"github.com/chromedp/chromedp": {
			"cmd/...", "examples/...", "mcp/...", "executor/chromium/...", "executor/extension/...",
			"internal/executortest", "bridge/...", "internal/...", "relay", "ownchrome",
		},
	}
	for _, p := range list(t, module+"/...") {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if slices.Contains(exempt, path) {
			continue
		}
		for dependency, allowed := range payers {
			if slices.ContainsFunc(allowed, func(pattern string) bool { return match(pattern, path) }) {
				continue
			}
			if slices.ContainsFunc(p.Deps, func(d string) bool { return match(dependency+"/...", d) }) {
				t.Errorf("%s depends on %s", path, dependency)
			}
		}
	}
}

// TestToolsNotInMainModule checks that the tools that check and build the repository are required
// in tools/go.mod only.
func TestToolsNotInMainModule(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, "honnef.co/") || strings.HasPrefix(path, "github.com/golangci/") {
			t.Errorf("go.mod requires %s; move it to tools/go.mod", path)
		}
	}
}

// TestProgramStaysSmall checks that cmd/chrome-mcp has only main and the table of commands, and that no
// package of the program collects the jobs of others.
func TestProgramStaysSmall(t *testing.T) {
	for _, dir := range program {
		limit := 5000 // lines
		if dir == "cmd/chrome-mcp" {
			limit = 400
		}
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
		if lines == 0 || lines > limit {
			t.Errorf("%s has %d lines, want 1 to %d", dir, lines, limit)
		}
	}
}
