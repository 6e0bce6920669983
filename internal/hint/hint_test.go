package hint_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/executor/chromium"
	"github.com/chrome-mcp/chrome-mcp/internal/hint"
	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/mcp"
	"github.com/chrome-mcp/chrome-mcp/policy"
)

// TestNames checks that the names in hints are names of the library, and that none contains
// another, so that the order of the replacements does not matter.
func TestNames(t *testing.T) {
	methods := map[string]reflect.Type{"Executor": reflect.TypeFor[executor.Executor](), "Page": reflect.TypeFor[executor.Page](),
		"Client": reflect.TypeFor[*server.Client]()}
	structs := map[string]reflect.Type{
		"Config": reflect.TypeFor[policy.Config](), "Options": reflect.TypeFor[chromium.Options](), "Pool": reflect.TypeFor[chromium.Pool](), "ManagerOptions": reflect.TypeFor[executor.ManagerOptions](),
		"SessionOptions": reflect.TypeFor[executor.SessionOptions](), "TypeOptions": reflect.TypeFor[executor.TypeOptions](),
		"HTTPOptions": reflect.TypeFor[server.HTTPOptions](), "NavigateOptions": reflect.TypeFor[executor.NavigateOptions](),
		"DialogAnswer": reflect.TypeFor[executor.DialogAnswer](),
	}
	for name := range hint.Names {
		owner, member, _ := strings.Cut(name, ".")
		known := owner == "bridge" || owner == "chromium"
		if typ := methods[owner]; typ != nil {
			_, known = typ.MethodByName(member)
		} else if typ := structs[owner]; typ != nil {
			_, known = typ.FieldByName(member)
		}
		if _, ok := reflect.TypeFor[mcp.Options]().FieldByName(member); owner == "Options" && ok {
			known = true
		}
		if !known {
			t.Errorf("%s does not exist", name)
		}
		for other := range hint.Names {
			if other != name && strings.HasPrefix(other, name) {
				t.Errorf("%s is a prefix of %s", name, other)
			}
		}
	}
}

func TestTranslate(t *testing.T) {
	if got, want := hint.Translate("Answer it with Page.HandleDialog, or start with Options.Headless."), "Answer it with handle_dialog, or start with --headless."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
