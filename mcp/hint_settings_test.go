package mcp

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/prompting"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// everyGrant returns a policy with all grants, changed by change.
func everyGrant(t *testing.T, change func(*policy.Config)) policy.Config {
	c := policy.Config{
		AllowDomains: []string{"shop.example"}, Mutations: true, Eval: true, Downloads: true, Clipboard: true, Storage: true,
		StateDir: t.TempDir(), UploadsDir: t.TempDir(),
	}
	if change != nil {
		change(&c)
	}
	return c
}

// guardOf returns a guard with a policy.
func guardOf(t *testing.T, c policy.Config) *policy.Guard {
	t.Helper()
	rules, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return policy.NewGuard(rules, nil)
}

// TestHintsFollowSettings translates all texts of the program that name a tool, under several
// settings: exactly the sentences that the client cannot follow are missing.
func TestHintsFollowSettings(t *testing.T) {
	changing := []string{
		"Page.Click", "Page.Type", "Page.FillForm", "Page.SelectOption", "Page.Upload", "DialogAnswer.Accept", "NavigateOptions.Resubmit",
	}
	words, sentence := regexp.MustCompile(`\w+`), regexp.MustCompile(`(?:[^.?]|[.?]\S)*[.?]*(?: |$)`)
	texts := textsNamingTools(t)
	if len(texts) < 60 {
		t.Fatalf("only %d texts found: %q", len(texts), texts)
	}
	for _, c := range []struct {
		name       string
		tools      []Toolset
		config     policy.Config
		prompts    bool     // the client shows permission prompts
		impossible []string // what the client can neither do nor be allowed by a prompt
		drops      string   // a part of one of the sentences that are missing
	}{
		{"everything allowed", Toolsets(), everyGrant(t, nil), false, nil, ""},
		{"default settings", nil, policy.Config{AllowDomains: []string{"shop.example"}}, false,
			append(changing, "Page.Eval", "Page.Download", "Executor.SaveState"), "Page.FillForm with true."},
		{"default settings, with prompts", nil, policy.Config{AllowDomains: []string{"shop.example"}}, true,
			[]string{"Page.Eval", "Page.Upload", "Executor.SaveState"}, "Page.Upload for its files"},
		{"no eval", Toolsets(), everyGrant(t, func(c *policy.Config) { c.Eval = false }), true, []string{"Page.Eval"}, "Page.Eval to run JavaScript"},
		{"no downloads", Toolsets(), everyGrant(t, func(c *policy.Config) { c.Downloads = false }), false, []string{"Page.Download"}, "Download it with Page.Download"},
		{"no mutations", Toolsets(), everyGrant(t, func(c *policy.Config) { c.Mutations = false }), false, changing, "DialogAnswer.Accept"},
		{"no upload directory", Toolsets(), everyGrant(t, func(c *policy.Config) { c.UploadsDir = "" }), true, []string{"Page.Upload"}, "Page.Upload for its files"},
		{"no state directory", Toolsets(), everyGrant(t, func(c *policy.Config) { c.StateDir = "" }), true, []string{"Executor.SaveState"}, "Executor.SaveState"},
		{"core tools", []Toolset{ToolsCore}, everyGrant(t, nil), true, []string{"Page.Upload", "Executor.SaveState"}, "ask_user"},
		{"only devtools", []Toolset{ToolsDevtools}, everyGrant(t, nil), true, nil, "snapshot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ex := guardOf(t, c.config).Wrap(&fake{})
			s := NewServer(ex, &Options{Tools: c.tools, PromptForPermission: c.prompts}).newRunner(ex)
			defer s.prompter.Close()
			ctx := s.prompter.Begin(t.Context(), "navigate", prompting.Elicitation{Form: true}, nil, nil)
			possible := func(sentence string) bool {
				for goName, name := range hint.Names {
					if strings.Contains(sentence, goName) && (slices.Contains(c.impossible, goName) || toolsetOf(name) != "" && s.tool(name) == nil) {
						return false
					}
				}
				for _, word := range words.FindAllString(sentence, -1) {
					named := strings.Contains(word, "_") || word == "snapshot" || word == "screenshot"
					impossible := slices.ContainsFunc(c.impossible, func(name string) bool { return hint.Names[name] == word })
					if named && toolsetOf(word) != "" && (impossible || s.tool(word) == nil) {
						return false
					}
				}
				return true
			}
			var dropped []string
			for _, text := range texts {
				var kept, left []string
				for _, sentence := range sentence.FindAllString(text, -1) {
					if sentence = strings.TrimSpace(sentence); sentence == "" {
						continue
					} else if possible(sentence) {
						kept = append(kept, sentence)
					} else {
						left = append(left, sentence)
					}
				}
				dropped = append(dropped, left...)
				want := hint.Translate(strings.Join(kept, " "))
				if left == nil {
					want = hint.Translate(text)
				}
				if got := s.translateNote(ctx, text); got != want {
					t.Errorf("%q:\n%q, want\n%q", text, got, want)
				}
				for _, tool := range []*tool{s.tools[0], s.tools[len(s.tools)-1]} {
					got := s.hint(ctx, tool, text, true)
					for _, sentence := range left {
						if strings.Contains(got, hint.Translate(sentence)) {
							t.Errorf("%q after %s: %q", text, tool.name, got)
						}
					}
				}
			}
			if all := strings.Join(dropped, "\n"); !strings.Contains(all, c.drops) || (c.drops == "") != (all == "") {
				t.Errorf("missing are %q", dropped)
			}
		})
	}
}

// textsNamingTools returns the texts in the sources of the library and of this package that name a
// tool, by its Go name or its own.
func textsNamingTools(t *testing.T) (texts []string) {
	t.Helper()
	var names []string
	for name := range hint.Names {
		names = append(names, regexp.QuoteMeta(name))
	}
	for _, tool := range allTools() {
		if strings.Contains(tool.name, "_") || tool.name == "snapshot" || tool.name == "screenshot" {
			names = append(names, `\b`+tool.name+`\b`)
		}
	}
	named := regexp.MustCompile(strings.Join(names, "|"))
	for _, dir := range []string{"bridge", "executor", "internal", "mcp", "ownchrome", "policy", "relay"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			switch name := entry.Name(); {
			case err != nil:
				return err
			case entry.IsDir() && (strings.HasSuffix(name, "suite") || slices.Contains([]string{"archtest", "executortest", "hint", "leaktest", "mutation", "skillcmd", "testdata", "testing"}, name)):
				return filepath.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") && named.MatchString(text) && !strings.Contains(text, `"`) {
						texts = append(texts, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// TestHintsOfCalls checks the hints in results, over MCP and without it.
func TestHintsOfCalls(t *testing.T) {
	const upload, script = "Use Page.Upload.", "Use Page.Eval to run JavaScript."
	noEval := everyGrant(t, func(c *policy.Config) { c.Eval = false })
	noMutations := everyGrant(t, func(c *policy.Config) { c.Mutations = false })
	noUploads := everyGrant(t, func(c *policy.Config) { c.UploadsDir = "" })
	for _, c := range []struct {
		name, hint       string
		tools            []Toolset
		config           policy.Config
		elicits          bool // the client shows permission prompts
		want, withoutMCP string
	}{
		{"eval", script, nil, everyGrant(t, nil), false, "Use eval to run JavaScript.", "Use eval to run JavaScript."},
		{"no eval", script, nil, noEval, true, "", ""},
		{"no eval, another sentence", script + " Stay on the page.", nil, noEval, false, "Stay on the page.", "Stay on the page."},
		{"uploads", upload, Toolsets(), everyGrant(t, nil), false, "Use upload_file.", "Use upload_file."},
		{"no upload directory", upload, Toolsets(), noUploads, false, grantUploads.allow, grantUploads.allow},
		{"no toolset", upload, nil, everyGrant(t, nil), false, "The user can enable upload_file with --tools.", "The user can enable upload_file with --tools."},
		{"no mutations", "Use Page.Click.", nil, noMutations, false, grantMutations.allow, grantMutations.allow},
		{"mutations after a prompt", "Use Page.Click.", nil, noMutations, true, "Use click.", grantMutations.allow}, // clients without MCP show no prompts
		{"quoted", `Click the option "Page.Eval. Use eval" of the list.`, nil, noEval, false, `Click the option "eval. Use eval" of the list.`, `Click the option "eval. Use eval" of the list.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ex := guardOf(t, c.config).Wrap(&fake{text: func(context.Context, executor.TabID, *executor.TextOptions) (*executor.Text, error) {
				return nil, &executor.Error{Code: executor.ErrNavigationFailed, Err: errors.New("it failed"), Hint: c.hint}
			}})
			server := NewServer(ex, &Options{Tools: c.tools, PromptForPermission: true})
			opts := &sdk.ClientOptions{}
			if c.elicits {
				opts.ElicitationHandler = func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return nil, errors.New("unexpected prompt")
				}
			}
			if got := metaOf(t, callTool(t, connect(t, server, opts), "get_text", "{}")).Hint; got != c.want {
				t.Errorf("over MCP: %q, want %q", got, c.want)
			}
			if got := metaOf(t, callWithoutMCP(t, openWorkspace(t, server), "http", "get_text", "{}")).Hint; got != c.withoutMCP {
				t.Errorf("without MCP: %q, want %q", got, c.withoutMCP)
			}
		})
	}
}
