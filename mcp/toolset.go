package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// A Toolset is the name of a group of tools that can be offered together.
type Toolset string

// The toolsets. A server offers only ToolsCore by default, because each additional tool increases
// the prompt size.
const (
	ToolsCore    Toolset = "core"    // the 26 tools
	ToolsBatch   Toolset = "batch"   // several calls in one
	ToolsInput   Toolset = "input"   // dragging, and the mouse at coordinates
	ToolsFiles   Toolset = "files"   // uploads, and pages as PDF files
	ToolsStorage Toolset = "storage" // cookies, web storage and storage state
	ToolsPeople  Toolset = "people"  // what needs the user

	// ToolsDevtools lists console messages, errors and requests, and emulates devices. The lists
	// need an Executor that records an activity log (SessionOptions.Record).
	ToolsDevtools Toolset = "devtools"
)

// A group is a toolset and its tools.
type group struct {
	name  Toolset
	desc  string
	tools []tool
}

// toolsets are all toolsets, in the order of the documentation. init sets the variable, because
// handlers of the batch tools use it: an initializer would be an initialization cycle.
var toolsets []group

func init() {
	toolsets = []group{
		{ToolsCore, "Pages and tabs: what every session has.", coreTools},
		{ToolsBatch, "Several calls in one, as a list or as a script.", batchTools},
		{ToolsFiles, "Uploads, and pages as PDF files.", filesTools},
		{ToolsStorage, "Cookies, local and session storage, and storage state files.", storageTools},
		{ToolsPeople, "Hands a tab over to the user, and lists the user's secrets.", peopleTools},
		{ToolsInput, "Dragging, and the mouse at a point of the viewport.", inputTools},
		{ToolsDevtools, "The activity log of a tab (console, errors, requests), and device emulation.", devtoolsTools},
	}
}

// Toolsets returns the names of all toolsets.
func Toolsets() []Toolset {
	var names []Toolset
	for _, set := range toolsets {
		names = append(names, set.name)
	}
	return names
}

// Description returns a sentence about the tools of the toolset, or "" if there is no such toolset.
func (set Toolset) Description() string {
	if i := slices.IndexFunc(toolsets, func(g group) bool { return g.name == set }); i >= 0 {
		return toolsets[i].desc
	}
	return ""
}

// ParseToolsets parses a comma-separated list of toolsets. "all" means all toolsets. The
// result is sorted and has no duplicates. ParseToolsets returns an error if the list has an unknown
// name, or only ToolsBatch.
func ParseToolsets(list string) ([]Toolset, error) {
	var sets []Toolset
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "all" {
			sets = append(sets, Toolsets()...)
			continue
		}
		if err := Toolset(name).check(); err != nil {
			return nil, err
		}
		sets = append(sets, Toolset(name))
	}
	slices.Sort(sets)
	if sets = slices.Compact(sets); slices.Equal(sets, []Toolset{ToolsBatch}) {
		return nil, fmt.Errorf("%q alone has no tools to call; use %s,%s", string(ToolsBatch), ToolsCore, ToolsBatch)
	}
	return sets, nil
}

// check returns an error if set is not a toolset.
func (set Toolset) check() error {
	known := Toolsets()
	if slices.Contains(known, set) {
		return nil
	}
	var names []string
	for _, name := range known {
		names = append(names, string(name))
	}
	if near := typo.Nearest(string(set), slices.Values(names)); near != "" {
		return fmt.Errorf("unknown toolset %q; did you mean %s?", string(set), near)
	}
	return fmt.Errorf("unknown toolset %q; choose from %s and all", string(set), strings.Join(names, ", "))
}

// toolsOf returns the tools of the toolsets, in the order of the documentation.
func toolsOf(sets []Toolset) []*tool {
	var list []*tool
	for _, set := range toolsets {
		if !slices.Contains(sets, set.name) {
			continue
		}
		for i := range set.tools {
			list = append(list, &set.tools[i])
		}
	}
	return list
}

// allTools returns the tools of all toolsets.
func allTools() []*tool { return toolsOf(Toolsets()) }

// findTool returns the tool with a name, or nil.
func findTool(tools []*tool, name string) *tool {
	if i := slices.IndexFunc(tools, func(t *tool) bool { return t.name == name }); i >= 0 {
		return tools[i]
	}
	return nil
}

// toolsetOf returns the toolset that has the tool with a name, or "" if no toolset has it.
func toolsetOf(name string) Toolset {
	for _, set := range toolsets {
		if slices.ContainsFunc(set.tools, func(t tool) bool { return t.name == name }) {
			return set.name
		}
	}
	return ""
}
