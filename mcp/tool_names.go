package mcp

import (
	"errors"

	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// unknown returns the error for the name of a tool that the session does not offer. It names the
// toolset that has the tool, or suggests the nearest name.
func (r *toolRunner) unknown(name string) error {
	if set := toolsetOf(name); set != "" {
		return errors.New(name + " is a tool of the toolset " + string(set) + ", which is not enabled; the user can enable it with --tools")
	}
	return errors.New("unknown tool " + mcptext.QuoteShort(name) + r.suggestTool(name))
}

// suggestTool returns the end of a message that suggests the tool nearest to name, or "" if no name
// is similar.
func (r *toolRunner) suggestTool(name string) string {
	var names []string
	for _, t := range r.tools {
		names = append(names, t.name)
	}
	if near := toolschema.Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
