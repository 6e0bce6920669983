package executor

import "context"

// A SentElement is an element of a shared tab that the user has sent to the client with the context
// menu.
type SentElement struct {
	Tab       TabID
	Ref       Ref    // empty if the element is unknown or was removed
	Role      string // of the element
	Name      string // of the element
	Selection string // the text that was selected
}

// Report passes e to the observer in ctx and reports whether there is one. Backends call it.
func (e SentElement) Report(ctx context.Context) bool {
	observe := CallOptionsOf(ctx).OnSentElement
	if observe != nil {
		observe(e)
	}
	return observe != nil
}
