package input

import (
	"context"
	"errors"
	"time"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deadline"
	"github.com/chrome-mcp/chrome-mcp/internal/elements"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// An element is the element that an action is on.
type element struct {
	*elements.Element
	effects        *Effects // of the action; nil if the action sends more input after that on this element
	useFullTimeout bool     // wait until the caller's timeout for what is missing, such as an option
	submits        bool     // a press on it is expected to submit a form
}

// withID returns el with another node of its document, such as the field that it contains.
func (el *element) withID(id int) *element {
	node, copied := *el.Element, *el
	node.ID = id
	copied.Element = &node
	return &copied
}

// find finds the element of a target for an action: it waits for the selector to match,
// for Timing.Selector or, if useFullTimeout is set, until ctx is done.
func (a *Actor) find(ctx context.Context, target executor.Target, useFullTimeout bool) (*element, error) {
	scriptCtx, cancel := deadline.Extend(ctx, a.timing.Script) // for a query that started in time
	defer cancel()
	since := time.Now() // when the document was last found to be unparsed or new
	var world string
	for {
		found, err := a.finder.Resolve(scriptCtx, target, executor.OpAct)
		if target.Selector == "" || !errors.Is(err, executor.ErrSelectorNotFound) && !errors.Is(err, frames.ErrDocumentGone) {
			if err != nil {
				return nil, err
			}
			a.shield.Admit(ctx, found.Doc) // it may have replaced a document that received input of this call
			return &element{Element: found, useFullTimeout: useFullTimeout}, nil
		}
		d, derr := a.tree.TopDocument(ctx)
		if derr == nil {
			isNew := d.World != world
			s := a.tree.Lock()
			parsed := s.Top().Reached("DOMContentLoaded")
			s.Unlock()
			if isNew || !parsed {
				world, since = d.World, time.Now()
			}
			if isNew && errors.Is(err, frames.ErrDocumentGone) {
				continue // search the new document
			}
			derr = d.AwaitChange(ctx)
		}
		switch {
		case ctx.Err() != nil, !useFullTimeout && time.Since(since) > a.timing.Selector:
			return nil, err
		case derr != nil && !errors.Is(derr, frames.ErrDocumentGone):
			if errors.Is(err, frames.ErrDocumentGone) {
				return nil, derr
			}
			return nil, err
		}
	}
}

// describeWithRef describes an element for a message, with a ref for the next attempt even if the
// element was found by a selector.
func (a *Actor) describeWithRef(ctx context.Context, el *element) string {
	if el.Ref != "" || a.client.Check(ctx, el.Doc, executor.OpRead, "") != nil {
		return a.finder.Describe(ctx, el.Element)
	}
	var l *elements.Description
	if err := el.Doc.Call(ctx, &l, "describe", el.ID); err != nil || l == nil {
		return a.finder.Describe(ctx, el.Element)
	}
	return a.finder.WithRef(el.Doc, elements.DescribedElement{ID: el.ID, Description: *l})
}
