package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/typo"
)

// A Toolset names a group of tools that a server offers, or does not.
type Toolset string

// The toolsets. A server offers ToolsCore unless it is told otherwise: each
// further tool costs a model's attention.
const (
	ToolsCore    Toolset = "core"    // the 26 tools
	ToolsBatch   Toolset = "batch"   // many calls in one
	ToolsInput   Toolset = "input"   // drags, and the mouse at coordinates
	ToolsFiles   Toolset = "files"   // files into pages, pages into files
	ToolsStorage Toolset = "storage" // what sites keep in the browser

	// ToolsDevtools tells of what happened in tabs, and emulates devices. For
	// the former it needs an Executor that records: SessionOptions.Record.
	ToolsDevtools Toolset = "devtools"
)

// A group is a toolset and its tools.
type group struct {
	name  Toolset
	desc  string
	tools []tool
}

// toolsets are all the toolsets, in the order in which documents list them.
// They are put here when the program starts: handlers of some tools call others.
var toolsets []group

func init() {
	toolsets = []group{
		{ToolsCore, "Pages and tabs: what every session has.", coreTools},
		{ToolsBatch, "Many calls in one, as a list or as a script.", batchTools},
		{ToolsFiles, "Files for pages, and pages as files.", filesTools},
		{ToolsStorage, "What a site keeps in the browser: cookies, local and session storage, and files of them.", storageTools},
		{ToolsInput, "Drags, and the mouse at a place of the viewport.", inputTools},
		{ToolsDevtools, "What happened in a tab: console, errors, requests; and what its pages are shown of the device.", devtoolsTools},
	}
}

// Toolsets returns all the toolsets.
func Toolsets() []Toolset {
	var names []Toolset
	for _, set := range toolsets {
		names = append(names, set.name)
	}
	return names
}

// ParseToolsets returns the toolsets that a list with commas names; "all" names
// all of them. Its errors say what is wrong with the list.
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
		return nil, fmt.Errorf("%q alone has no tools to call; say %s,%s", string(ToolsBatch), ToolsCore, ToolsBatch)
	}
	return sets, nil
}

// check returns an error for a name that is no toolset's.
func (set Toolset) check() error {
	known := Toolsets()
	if slices.Contains(known, set) {
		return nil
	}
	var words []string
	for _, name := range known {
		if set != "" && typo.Distance(string(set), string(name)) < 3 {
			return fmt.Errorf("%q is no toolset; did you mean %s?", string(set), name)
		}
		words = append(words, string(name))
	}
	return fmt.Errorf("%q is no toolset; there are %s and all", string(set), strings.Join(words, ", "))
}

// toolsOf returns the tools of toolsets, in the order of documents.
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

// toolsetOf returns the toolset that has a tool of a name; empty when none has.
func toolsetOf(name string) Toolset {
	for _, set := range toolsets {
		if slices.ContainsFunc(set.tools, func(t tool) bool { return t.name == name }) {
			return set.name
		}
	}
	return ""
}
