package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// A fieldLimit is a limit of the value of a field, which the page controls: a number, a date or a time.
// One that is too long or has other characters is ignored.
type fieldLimit string

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *fieldLimit) UnmarshalText(text []byte) error {
	*l = ""
	if len(text) <= maxFieldLimit && !bytes.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.:eETW", r) }) {
		*l = fieldLimit(text)
	}
	return nil
}

// maxFieldLimit is the maximum length of a field limit, in characters.
const maxFieldLimit = 30

// setValue sets the text as the value of a field that accepts no typing, such as a date.
func (e *textEntry) setValue(ctx context.Context) (entryResult, error) {
	var got *struct {
		OK     bool       `json:"ok"`
		Type   string     `json:"type"`
		Masked bool       `json:"masked"`
		Min    fieldLimit `json:"min"`
		Max    fieldLimit `json:"max"`
		Step   fieldLimit `json:"step"`
		// Set is the field's value immediately after it was set, Value its value after the page was
		// notified.
		Set   string `json:"set"`
		Value string `json:"value"`
	}
	if err := e.actor.finder.Call(ctx, e.field.Element, &got, "setValue", e.field.ID, e.text); err != nil {
		if errors.Is(err, executor.ErrDialogOpen) {
			return entryResult{kept: true}, nil // the page's change handler opened it
		}
		return entryResult{}, e.removed(ctx, err)
	}
	if got == nil {
		return entryResult{}, e.actor.finder.RemovedError(ctx, e.field.Element)
	}
	if !got.OK {
		example := map[string]string{
			"date": "2026-11-21", "time": "14:30", "datetime-local": "2026-11-21T14:30", "month": "2026-11", "week": "2026-W47", "color": "#33aaff", "range": "a number",
		}[got.Type]
		if got.Type == "range" {
			example = fmt.Sprintf("a number from %s to %s", cmp.Or(got.Min, "0"), cmp.Or(got.Max, "100"))
		}
		if got.Type != "range" && got.Min+got.Max != "" {
			example += fmt.Sprintf(", from %s to %s", cmp.Or(got.Min, "any"), cmp.Or(got.Max, "any"))
		}
		if got.Step != "" {
			example += " in steps of " + string(got.Step)
		}
		return entryResult{}, executor.Errorf(executor.ErrBadArgs, "Use "+example+".", "a %s field does not accept %s", got.Type, unlessMasked(got.Masked, e.text, "this value"))
	}
	if got.Value == "" && got.Set != "" {
		return entryResult{note: fmt.Sprintf("the %s field is empty now", got.Type)}, nil
	}
	if got.Value != got.Set {
		return entryResult{note: fmt.Sprintf("the field value is %s", unlessMasked(got.Masked, pagetext.FirstLine(got.Value), "different"))}, nil
	}
	return entryResult{kept: true}, nil
}

// unlessMasked returns the quoted value of a field, or word if the value is a secret.
func unlessMasked(masked bool, value, word string) string {
	if masked {
		return word
	}
	return strconv.Quote(value)
}
