package mcp

import (
	"encoding/json"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// TestTools checks that Tools describes all tools, and that a tool whose schema requires an argument
// accepts no call without arguments.
func TestTools(t *testing.T) {
	all, infos := allTools(), Tools()
	if len(infos) != len(all) {
		t.Fatalf("%d tools, want %d", len(infos), len(all))
	}
	for i, tool := range all {
		info := infos[i]
		h := info.Annotations
		if info.Name != tool.name || info.Description != tool.desc || info.Toolset != toolsetOf(tool.name) || info.Toolset.Description() == "" || info.Kind != tool.kind.letter ||
			(hints{h.ReadOnlyHint, *h.DestructiveHint, h.IdempotentHint, *h.OpenWorldHint}) != tool.kind.hints {
			t.Errorf("%s: %+v", tool.name, info)
		}
		if string(info.InputSchema) != toolschema.Input(tool.args) || string(info.OutputSchema) != toolschema.Output(tool.result) {
			t.Errorf("%s: schemas %s, %s", tool.name, info.InputSchema, info.OutputSchema)
		}
		var schema struct{ Required []string }
		if err := json.Unmarshal(info.InputSchema, &schema); err != nil {
			t.Error(err)
		}
		if _, err := tool.decode(nil); len(schema.Required) > 0 && err == nil {
			t.Errorf("%s requires arguments, but accepts none", tool.name)
		}
		if found, ok := FindTool(tool.name); !ok || found.Name != tool.name {
			t.Errorf("%s was not found: %+v", tool.name, found)
		}
	}
	if found, ok := FindTool("no_tool"); ok || Toolset("no").Description() != "" {
		t.Errorf("found %+v", found)
	}
}
