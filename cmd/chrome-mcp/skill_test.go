package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// skillText returns the output of the built program for a topic.
func skillText(t *testing.T, topic ...string) string {
	t.Helper()
	out, err := exec.Command(binary, append([]string{"skill"}, topic...)...).Output()
	if err != nil {
		t.Fatalf("skill %q: %v", topic, err)
	}
	return string(out)
}

// TestSkillFormat checks the first page against the specification of Agent Skills, and that it lists
// the tools and the topics of this version.
func TestSkillFormat(t *testing.T) {
	page := skillText(t)
	if len(page) > 6<<10 {
		t.Errorf("the first page has %d bytes, more than 6 KB", len(page))
	}
	_, rest, ok := strings.Cut(page, "---\n")
	front, body, closed := strings.Cut(rest, "\n---\n\n# ")
	if !ok || !closed || !strings.HasPrefix(page, "---\n") || strings.Contains(body, "{{") {
		t.Fatalf("no front matter, or a placeholder:\n%s", page)
	}
	var meta struct {
		Name        string            `yaml:"name"`
		Description string            `yaml:"description"`
		Metadata    map[string]string `yaml:"metadata"`
	}
	d := yaml.NewDecoder(strings.NewReader(front))
	d.KnownFields(true)
	if err := d.Decode(&meta); err != nil {
		t.Fatalf("front matter: %v\n%s", err, front)
	}
	if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(meta.Name) || len(meta.Name) > 64 {
		t.Errorf("invalid name %q", meta.Name)
	}
	if n := len(meta.Description); n < 100 || n > 1024 || strings.ContainsAny(meta.Description, "<>") {
		t.Errorf("the description has %d bytes: %s", n, meta.Description)
	}
	if meta.Metadata["version"] != "v0.0.0-test" {
		t.Errorf("metadata %v, want the version of the binary", meta.Metadata)
	}
	for _, tool := range mcp.Tools() {
		if !strings.Contains(body, "`"+tool.Name+"`") {
			t.Errorf("the first page does not list %s", tool.Name)
		}
	}
}

// TestSkillTopics prints each topic that the first page lists, and each tool.
func TestSkillTopics(t *testing.T) {
	_, listed, _ := strings.Cut(skillText(t), "\n## More\n")
	var topics []string
	for _, found := range regexp.MustCompile("(?m)^\\* `([a-z]+)`:").FindAllStringSubmatch(listed, -1) {
		topics = append(topics, found[1])
	}
	for _, want := range append([]string{"sessions", "files", "scripts"}, names(mcp.Toolsets())...) {
		if !slices.Contains(topics, want) {
			t.Errorf("the first page does not list the topic %s", want)
		}
	}
	for _, topic := range topics {
		if text := skillText(t, topic); !strings.HasPrefix(text, "#") || len(text) < 200 {
			t.Errorf("topic %s: %q", topic, text)
		}
	}
	for _, tool := range mcp.Tools() {
		text := skillText(t, tool.Name)
		if !strings.Contains(text, "## "+tool.Name+"\n\n"+tool.Description+"\n") {
			t.Errorf("skill %s:\n%s", tool.Name, text)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		for name := range schema.Properties {
			if !strings.Contains(text, "\n* `"+name+"` (") {
				t.Errorf("skill %s: argument %s not found in\n%s", tool.Name, name, text)
			}
		}
	}
	text := skillText(t, "reload")
	if want := "* `waitUntil` (load, domcontentloaded, networkidle or commit)"; !strings.Contains(text, want) {
		t.Errorf("skill reload: %q not found in\n%s", want, text)
	}
}

func names(sets []mcp.Toolset) (names []string) {
	for _, set := range sets {
		names = append(names, string(set))
	}
	return names
}

func TestSkillBadTopic(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sesions"}, "error: unknown topic \"sesions\"\nhint: Did you mean sessions? "},
		{[]string{"../first"}, "error: unknown topic \"../first\"\nhint: `chrome-mcp skill` lists the topics.\n"},
		{[]string{""}, "error: unknown topic \"\"\n"},
		{[]string{"first"}, "error: unknown topic \"first\"\n"},
		{[]string{"files", "scripts"}, "error: unexpected argument \"scripts\"\n"},
	} {
		cmd := exec.Command(binary, append([]string{"skill"}, c.args...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if cmd.ProcessState.ExitCode() != cli.ExitUsage || len(out) > 0 || !strings.HasPrefix(stderr.String(), c.want) {
			t.Errorf("skill %q: %v, stdout %q, stderr %q", c.args, err, out, &stderr)
		}
	}
	cmd := exec.Command(binary, "skill")
	cmd.Env = append(os.Environ(), "CHROME_MCP_ALLOW_DOMIAN=x") // it reads no settings
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "---\n") {
		t.Errorf("with an invalid variable: %v\n%s", err, out)
	}
}

var (
	shellBlock  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	commandName = regexp.MustCompile(`(?m)(?:^|\| |\$\()chrome-mcp ([a-z]+)`)
	inlineLine  = regexp.MustCompile("`chrome-mcp ([a-z-]+)")
)

// TestSkillCommands runs every command line of the skill with the built program, in the order of
// the text and on a page that has the elements that the text names.
func TestSkillCommands(t *testing.T) {
	needChromium(t)
	if testing.Short() {
		t.Skip("starts a browser")
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/report.csv" {
			w.Header().Set("Content-Disposition", "attachment")
			fmt.Fprint(w, "a,b\n")
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Lamps</title><h1>Page %s</h1><form><input name=q><button>Search</button></form>
<a href=/cart>Cart</a><p style="height: 3000px">Walnut`, r.URL.Path)
	}))
	defer site.Close()
	home, err := os.MkdirTemp("", "skill") // the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	defer waitGone(t, home)
	defer stopLocalServer(t, home)

	ran := 0
	for _, topic := range [][]string{nil, {"sessions"}, {"files"}, {"scripts"}} {
		text := skillText(t, topic...)
		for _, found := range inlineLine.FindAllStringSubmatch(text, -1) {
			if out, err := exec.Command(binary, "help", found[1]).CombinedOutput(); err != nil {
				t.Errorf("%q: chrome-mcp help %s: %v\n%s", topic, found[1], err, out)
			}
		}
		blocks := shellBlock.FindAllStringSubmatch(text, -1)
		if len(blocks) == 0 {
			t.Errorf("%q: no commands", topic)
		}
		for _, block := range append(blocks, []string{"", "chrome-mcp sessions close --all\n"}) {
			// In the shell, a command that fails ends the block, also one that is not the last of a pipe.
			script := strings.ReplaceAll(block[1], "https://example.com", site.URL)
			script = strings.ReplaceAll(script, "--allow-domain example.com", "--allow-domain "+site.URL)
			cmd := exec.Command("bash", "-euxo", "pipefail", "-c", script)
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "HOME="+home, "CHROME_MCP_HEADLESS=true", "CHROME_MCP_PREFER=cdp",
				"PATH="+filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"))
			if os.Geteuid() == 0 {
				cmd.Env = append(cmd.Env, "CHROME_MCP_NO_SANDBOX=true")
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v\n%s\n%s", topic, err, script, out)
			}
			ran += len(commandName.FindAllString(block[1], -1))
			if strings.Contains(script, "run_script") && !strings.Contains(string(out), "Page /cart") {
				t.Errorf("the script printed\n%s", out)
			}
		}
	}
	if ran < 30 {
		t.Errorf("ran only %d commands", ran)
	}
	for _, name := range []string{"page.md", "page.txt", "page.webp", "requests.json"} {
		if _, err := os.Stat(filepath.Join(home, cli.DefaultDataName, "output", "default", name)); err != nil {
			t.Error(err)
		}
	}
}
