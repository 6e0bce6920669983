package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// formFields is the type of fill_form's argument fields: an object whose keys are selectors or
// refs. It keeps their order.
type formFields []executor.Field

func (*formFields) argSchema() string { return `"type":"object"` }

func (*formFields) expected() string {
	return "an object that maps each selector or ref to a string, a boolean or an array of strings"
}

func (f *formFields) decodeArg(raw json.RawMessage) error {
	members, err := object(raw)
	if err != nil {
		return fmt.Errorf("must be %s, got %s", f.expected(), jsonKind(raw))
	}
	if len(members) == 0 {
		return errors.New("must have at least one field")
	}
	seen := make(map[executor.Target]bool, len(members))
	for _, m := range members {
		field := executor.Field{Target: newTarget(m.key, "")}
		switch {
		case m.key == "":
			return errors.New("must not have an empty selector")
		case seen[field.Target]:
			return fmt.Errorf("must name each field once, got %s twice", quoteShort(m.key))
		}
		seen[field.Target] = true
		if field.Value, err = fieldValue(m.value); err != nil {
			return fmt.Errorf("must have a string, a boolean or an array of strings for %s, got %w", quoteShort(m.key), err)
		}
		*f = append(*f, field)
	}
	return nil
}

// fieldValue decodes the value of a field. Its error describes a value of another type.
func fieldValue(raw json.RawMessage) (any, error) {
	switch jsonKind(raw) {
	case "a string":
		s, _ := jsonString(raw)
		return s, nil
	case "a boolean":
		return string(raw) == "true", nil
	}
	return jsonStrings(raw)
}

// goneArg is the type of wait_for's argument gone: a selector or ref. Some models send true in
// addition to a selector or text; waitForArgs.check interprets that.
type goneArg struct {
	what string // selector or ref
	bare bool   // the value was true
}

func (*goneArg) argSchema() string { return `"type":"string"` }

func (*goneArg) expected() string { return "a string" }

func (g *goneArg) decodeArg(raw json.RawMessage) error {
	switch string(raw) {
	case "true":
		g.bare = true
		return nil
	case "false":
		return nil
	}
	var ok bool
	switch g.what, ok = jsonString(raw); {
	case !ok:
		return fmt.Errorf("must be %s, got %s", g.expected(), jsonKind(raw))
	case g.what == "":
		return errors.New("must not be empty")
	}
	if ref, err := executor.ParseRef(g.what); err == nil {
		g.what = string(ref)
	}
	return nil
}
