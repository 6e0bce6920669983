package page

import (
	"context"
	"fmt"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/reading"
)

// An enteredField is a field into which an action entered text.
type enteredField struct {
	doc  *frames.Document
	id   int
	name string // for results; empty if the action has one field
	want string // the value that the field should have
}

// rewrittenFields returns a note on the fields whose values the page replaced after they were read
// back, as it does when a server or a timer responds to the text. A value that the page only
// reformatted is not reported. It waits for the replacement if the page has started a timer.
func (w *changeTracker) rewrittenFields(ctx context.Context) string {
	var notes []string
	for _, f := range w.entered {
		if !f.doc.IsCurrent() {
			continue
		}
		var now *fieldInfo
		if f.doc.Call(ctx, &now, "rewrittenField", f.id, w.v.tab.timing.Rewrite.Milliseconds()) != nil || now == nil {
			continue
		}
		w.mutated, w.seen = true, reading.Prefetched{} // the values in it are older
		if now.matches(f.want) || f.want == "" && now.isEmpty() {
			continue
		}
		note := fmt.Sprintf("the field now has %s", unlessMasked(now.Masked, pagetext.FirstLine(now.Value), "a different value"))
		if now.Value == "" {
			note = "the field is now empty"
		}
		if f.name != "" {
			note = f.name + ": " + note
		}
		notes = append(notes, note)
	}
	return joinNotes(notes...)
}

// lostField returns ErrNotActionable if a field has lost the text that the action entered. A combobox
// that accepts only its options clears itself when the focus leaves it.
func (w *changeTracker) lostField(ctx context.Context) error {
	for _, f := range w.entered {
		if !f.doc.IsCurrent() || f.want == "" {
			continue
		}
		var now *fieldInfo
		if f.doc.Call(ctx, &now, "rewrittenField", f.id, 0) == nil && now != nil && now.Value == "" {
			return executor.Errorf(executor.ErrNotActionable, "Type into the field and choose one of its options, and then submit the form.",
				"it was not pressed, because field %s is empty again since the focus left it", f.name)
		}
	}
	return nil
}
