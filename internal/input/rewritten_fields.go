package input

import (
	"context"
	"fmt"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
	"github.com/chrome-mcp/chrome-mcp/internal/phrase"
)

// An EnteredField is a field into which an action entered text.
type EnteredField struct {
	doc  *frames.Document
	id   int
	name string // for results; empty if the action has one field
	want string // the value that the field should have
}

// readAgain returns the state of the field, or nil if the field is gone. It waits for a replacement
// of the value, for at most wait, if the page has started a timer.
func (f *EnteredField) readAgain(ctx context.Context, wait time.Duration) *fieldInfo {
	var now *fieldInfo
	if !f.doc.IsCurrent() || f.doc.Call(ctx, &now, "rewrittenField", f.id, wait.Milliseconds()) != nil {
		return nil
	}
	return now
}

// RewrittenFields returns a note on the fields of entered whose values the page replaced after they
// were read back, as it does when a server or a timer responds to the text. A value that the page
// only reformatted is not reported. read reports whether a field was read again. It waits for the
// replacement if the page has started a timer.
func (a *Actor) RewrittenFields(ctx context.Context, entered []*EnteredField) (note string, read bool) {
	var notes []string
	for _, f := range entered {
		now := f.readAgain(ctx, a.timing.Rewrite)
		if now == nil {
			continue
		}
		read = true
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
	return phrase.Notes(notes...), read
}

// lostField returns ErrNotActionable if a field has lost the text that the action entered. A
// combobox that accepts only its options clears itself when the focus leaves it.
func lostField(ctx context.Context, entered []*EnteredField) error {
	for _, f := range entered {
		if f.want == "" {
			continue
		}
		if now := f.readAgain(ctx, 0); now != nil && now.Value == "" {
			return executor.Errorf(executor.ErrNotActionable, "Type into the field and choose one of its options, and then submit the form.",
				"it was not pressed, because field %s is empty again since the focus left it", f.name)
		}
	}
	return nil
}
