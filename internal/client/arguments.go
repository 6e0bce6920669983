package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/internal/cli"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// maxArguments is the maximum size of the arguments of one call, in bytes.
const maxArguments = 1 << 20

func tooLong() error {
	return cli.BadCallf("Split it into several calls.", "the arguments of one call exceed %d bytes", maxArguments)
}

// arguments splits the text after a tool's name into arguments. A JSON object is one argument.
func arguments(rest string) ([]string, error) {
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "{") {
		return []string{rest}, nil
	}
	words, err := cli.SplitWords(rest)
	if err != nil {
		return nil, cli.BadCallf(`Write a text with spaces or quotes as text="it's here", or all arguments as one JSON object.`, "%w", err)
	}
	return words, nil
}

// A Schema is the part of a tool's input schema that the terminal and the skill use.
type Schema struct {
	Properties map[string]struct {
		Type        any      `json:"type"`
		Description string   `json:"description"`
		Enum        []string `json:"enum"`
		Items       struct {
			Enum []string `json:"enum"`
		} `json:"items"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// SchemaOf returns the input schema of a tool.
func SchemaOf(tool mcp.ToolInfo) (s Schema) {
	_ = json.Unmarshal(tool.InputSchema, &s) // the schema is ours
	return s
}

// Names returns the properties in alphabetical order, required ones first.
func (s Schema) Names() []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	slices.SortStableFunc(names, func(a, b string) int {
		switch required := slices.Contains(s.Required, a); {
		case required == slices.Contains(s.Required, b):
			return 0
		case required:
			return -1
		}
		return 1
	})
	return names
}

// toolArguments parses the arguments of a tool: one JSON object, or words such as
// url=https://example.com. A value is JSON after :=, or if the tool does not expect a string.
// JSON is passed on as it was written, so that the server can reject repeated keys and no number is rounded.
func toolArguments(tool mcp.ToolInfo, words []string) (any, error) {
	args := map[string]any{}
	if len(words) == 1 && strings.HasPrefix(strings.TrimSpace(words[0]), "{") {
		var object json.RawMessage
		if err := json.Unmarshal([]byte(words[0]), &object); err != nil {
			return nil, cli.BadCallf("Write them as {\"url\": \"https://example.com\"}, in single quotes if a shell reads them.", "invalid JSON arguments: %v", err)
		}
		return object, nil
	}
	s := SchemaOf(tool)
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		name, isJSON := strings.CutSuffix(name, ":")
		p, known := s.Properties[name]
		switch {
		case !ok:
			hint := "Write name=value, or all arguments as one JSON object."
			if len(s.Required) > 0 {
				hint = fmt.Sprintf("Write name=value, such as %s=VALUE, or all arguments as one JSON object.", s.Names()[0])
			}
			return nil, cli.BadCallf(hint, "unexpected argument %q", word)
		case !known:
			return nil, cli.BadCallf("Its arguments are "+strings.Join(s.Names(), ", ")+".", "%s has no argument %q", tool.Name, name)
		}
		if _, twice := args[name]; twice {
			return nil, cli.BadCallf("Remove one.", "%s is given twice", name)
		}
		var value any = text
		if isJSON || p.Type != "string" {
			var raw json.RawMessage
			if err := json.Unmarshal([]byte(text), &raw); err != nil {
				return nil, cli.BadCallf(fmt.Sprintf("It must be JSON of the type %v.", p.Type), "%s: %q is not JSON", name, text)
			}
			value = raw
		}
		args[name] = value
	}
	return args, nil
}
