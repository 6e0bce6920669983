package shield

import (
	"context"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// ViewTransitions is a query for active view transitions in the documents that a client may read.
type ViewTransitions struct {
	client  *frames.Client
	docs    []*frames.Document
	pending []*cdpconn.Pending // of docs; nil for a document that no longer exists
}

// QueryViewTransitions queries the documents that c may read for active view transitions. It does
// not wait for the answers.
func QueryViewTransitions(ctx context.Context, c *frames.Client) (*ViewTransitions, error) {
	q := &ViewTransitions{client: c, docs: c.Allowed(ctx, executor.OpRead)}
	for _, d := range q.docs {
		p, err := d.Start(ctx, "hasActiveViewTransition")
		if err != nil && (!errors.Is(err, frames.ErrDocumentGone) || d.IsTop()) {
			return nil, err
		}
		if err != nil {
			p = nil
		}
		q.pending = append(q.pending, p)
	}
	return q, nil
}

// active waits for the answers, and reports whether a view transition is active.
func (q *ViewTransitions) active(ctx context.Context) (bool, error) {
	for i, p := range q.pending {
		if p == nil {
			continue
		}
		var runs bool
		if err := q.docs[i].Finish(ctx, p, &runs); err != nil && !errors.Is(err, frames.ErrDocumentGone) {
			return false, err
		}
		if runs {
			return true, nil
		}
	}
	return false, nil
}

// Check returns ErrPolicyDenied if an active view transition may show a past document that the
// client may not read, or a denied document that was hidden after the transition started. It waits
// for the answers.
func (q *ViewTransitions) Check(ctx context.Context, hidden bool) error {
	if runs, err := q.active(ctx); err != nil || !runs {
		return err
	}
	c := q.client
	past, complete := c.Tree.PastDocuments()
	denied := hidden || !complete
	for _, d := range past {
		denied = denied || c.Check(ctx, d, executor.OpRead, "") != nil
	}
	if denied {
		return &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true,
			Err:  errors.New("a view transition may show a document that the policy denies"),
			Hint: "Take a snapshot instead, or try again when the transition has ended."}
	}
	return nil
}
