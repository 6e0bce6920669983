package browsertools

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// formFields is the type of fill_form's argument fields: an object whose keys are selectors or
// refs. It keeps their order.
type formFields []executor.Field

func (*formFields) ArgSchema() string { return `"type":"object"` }

func (*formFields) Expected() string {
	return "an object that maps each selector or ref to a string, a boolean or an array of strings"
}

func (f *formFields) DecodeArg(raw json.RawMessage) error {
	members, err := toolschema.Members(raw)
	if err != nil {
		return fmt.Errorf("must be %s, got %s", f.Expected(), toolschema.JSONKind(raw))
	}
	if len(members) == 0 {
		return errors.New("must have at least one field")
	}
	seen := make(map[executor.Target]bool, len(members))
	for _, m := range members {
		field := executor.Field{Target: newTarget(m.Key, "")}
		switch {
		case m.Key == "":
			return errors.New("must not have an empty selector")
		case seen[field.Target]:
			return fmt.Errorf("must name each field once, got %s twice", mcptext.QuoteShort(m.Key))
		}
		seen[field.Target] = true
		if field.Value, err = fieldValue(m.Value); err != nil {
			return fmt.Errorf("must have a string, a boolean or an array of strings for %s, got %w", mcptext.QuoteShort(m.Key), err)
		}
		*f = append(*f, field)
	}
	return nil
}

// fieldValue decodes the value of a field. Its error describes a value of another type.
func fieldValue(raw json.RawMessage) (any, error) {
	switch toolschema.JSONKind(raw) {
	case "a string":
		s, _ := toolschema.JSONString(raw)
		return s, nil
	case "a boolean":
		return string(raw) == "true", nil
	}
	return toolschema.JSONStrings(raw)
}

// goneArg is the type of wait_for's argument gone: a selector or ref. Some models send true in
// addition to a selector or text; WaitForArgs.Check interprets that.
type goneArg struct {
	What string // selector or ref
	Bare bool   // the value was true
}

func (*goneArg) ArgSchema() string { return `"type":"string"` }

func (*goneArg) Expected() string { return "a string" }

func (g *goneArg) DecodeArg(raw json.RawMessage) error {
	switch string(raw) {
	case "true":
		g.Bare = true
		return nil
	case "false":
		return nil
	}
	var ok bool
	switch g.What, ok = toolschema.JSONString(raw); {
	case !ok:
		return fmt.Errorf("must be %s, got %s", g.Expected(), toolschema.JSONKind(raw))
	case g.What == "":
		return errors.New("must not be empty")
	}
	if ref, err := executor.ParseRef(g.What); err == nil {
		g.What = string(ref)
	}
	return nil
}
