package mcp

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// ToolInfo describes a tool.
type ToolInfo struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Toolset      Toolset         `json:"toolset"`
	InputSchema  json.RawMessage `json:"inputSchema"`  // JSON schema of the arguments
	OutputSchema json.RawMessage `json:"outputSchema"` // JSON schema of the structured result

	Kind        string               `json:"-"` // with the letters of KindsLegend
	Annotations *sdk.ToolAnnotations `json:"-"` // all are set
}

// Tools describes the tools of all toolsets, in the order of the documentation.
func Tools() (infos []ToolInfo) {
	for _, t := range allTools() {
		infos = append(infos, t.info())
	}
	return infos
}

// FindTool describes one tool. It reports false if there is no tool of that name.
func FindTool(name string) (ToolInfo, bool) {
	if t := findTool(allTools(), name); t != nil {
		return t.info(), true
	}
	return ToolInfo{}, false
}

func (t *tool) info() ToolInfo {
	return ToolInfo{
		Name: t.name, Description: t.desc, Toolset: toolsetOf(t.name),
		InputSchema: json.RawMessage(toolschema.Input(t.args)), OutputSchema: json.RawMessage(toolschema.Output(t.result)),
		Kind: t.kind.letter, Annotations: t.kind.hints.annotations(),
	}
}
