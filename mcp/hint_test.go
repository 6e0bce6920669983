package mcp

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/browsertools"
)

// TestHintsNameOwnArguments checks that hints about time and size, and hints that name arguments of
// any tool, name only arguments that the tool has.
func TestHintsNameOwnArguments(t *testing.T) {
	s := NewServer(&fake{}, &Options{Tools: Toolsets()}).newRunner(&fake{})
	render := func(tool *tool, hint string) ErrorInfo {
		t.Helper()
		return s.renderError(t.Context(), tool, &executor.Error{Code: executor.ErrTimeout, Retryable: true, Err: errors.New("it took too long"), Hint: hint}).Meta[ErrorKey].(ErrorInfo)
	}
	byLetters := regexp.MustCompile(`[A-Za-z]+`)
	for _, tool := range allTools() {
		for hint, names := range map[string][]string{
			executor.HintMoreTime: {"timeoutMs"},
			executor.HintReadLess: {"selector", "ref", "find"},
		} {
			got := render(tool, hint+" Take a snapshot.").Hint
			if !strings.HasSuffix(got, " Take a snapshot.") || strings.Contains(got, hint) {
				t.Errorf("%s: %q", tool.name, got)
			}
			words := byLetters.FindAllString(got, -1)
			for _, name := range names {
				if named := strings.Contains(" "+strings.Join(words, " ")+" ", " "+name+" "); named != tool.hasParam(name) {
					t.Errorf("%s has %s: %t, hint %q", tool.name, name, tool.hasParam(name), got)
				}
			}
		}
		for name, owners := range argumentOwners() {
			got := render(tool, "Look at it. Give a longer "+name+".").Hint
			if strings.Contains(got, name) != tool.hasParam(name) || !strings.HasPrefix(got, "Look at it.") {
				t.Errorf("%s: %q", tool.name, got)
			}
			if got := render(tool, "Give "+name+".").Hint; !tool.hasParam(name) && got != "Try again." {
				t.Errorf("%s: %q", tool.name, got)
			}
			if got, want := render(tool, "Use "+owners[0]+" with "+name+".").Hint, "Use "+owners[0]+" with "+name+"."; got != want {
				t.Errorf("%s: %q, want %q", tool.name, got, want)
			}
		}
	}
	if len(argumentOwners()["timeoutMs"]) == 0 || len(argumentOwners()["tabId"]) == 0 {
		t.Errorf("the arguments are %v", argumentOwners())
	}
}

// TestHintsNameTools checks that hints which refer to a method name the tool and its arguments.
func TestHintsNameTools(t *testing.T) {
	s := NewServer(&fake{}, &Options{Tools: Toolsets()}).newRunner(&fake{})
	for hint, want := range map[string]string{
		"Open a tab with Executor.NewPage or Executor.Navigate.":              "Open a tab with tab_new or navigate.",
		"Give a value, or call Page.Type with TypeOptions.KeyEvents.":         "Give a value, or call type with keyEvents: true.",
		"Close some with Page.Close. Allow more with SessionOptions.MaxTabs.": "Close some with tab_close. Allow more with --max-tabs.",
	} {
		for _, tool := range allTools() {
			e := &executor.Error{Code: executor.ErrNotActionable, Err: errors.New("it failed"), Hint: hint}
			if got := s.renderError(t.Context(), tool, e).Meta[ErrorKey].(ErrorInfo).Hint; got != want {
				t.Errorf("%s: %q, want %q", tool.name, got, want)
			}
		}
	}
}

// TestNotesNameTools checks that notes and reasons, which contain hints, name tools and flags, also in
// structured results.
func TestNotesNameTools(t *testing.T) {
	out := browsertools.ActionResult{Action: &executor.Action{Changes: executor.Changes{
		Note:      "navigation denied by policy: allow it with Config.AllowDomains",
		Downloads: []executor.Download{{Reason: "allow downloads with Config.Downloads"}},
	}}}
	NewServer(&fake{}, nil).newRunner(&fake{}).translateTexts(t.Context(), reflect.ValueOf(out))
	if got := out.Note + "; " + out.Downloads[0].Reason; got != "navigation denied by policy: allow it with --allow-domain; allow downloads with --enable-downloads" {
		t.Error(got)
	}
}
