package shield

import (
	"context"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// ViewTransitions is a query for active view transitions in the documents that a client may read. It returns
// whether there is one.
type ViewTransitions func() (active bool, err error)

// QueryViewTransitions asks the documents that c may read whether a view transition is active in them. It
// does not wait for the answers.
func QueryViewTransitions(ctx context.Context, c *frames.Client) (ViewTransitions, error) {
	docs := c.Allowed(ctx, executor.OpRead)
	pending := make([]*cdpconn.Pending, len(docs))
	for i, d := range docs {
		p, err := d.Start(ctx, "hasActiveViewTransition")
		if errors.Is(err, frames.ErrDocumentGone) && !d.IsTop() {
			continue
		}
		if err != nil {
			return nil, err
		}
		pending[i] = p
	}
	return func() (bool, error) {
		for i, p := range pending {
			if p == nil {
				continue // the document no longer exists
			}
			var runs bool
			if err := docs[i].Finish(ctx, p, &runs); err != nil && !errors.Is(err, frames.ErrDocumentGone) {
				return false, err
			}
			if runs {
				return true, nil
			}
		}
		return false, nil
	}, nil
}

// Check returns ErrPolicyDenied if an active view transition may show a past document that c may not read,
// or a denied document that was hidden after the transition started. It waits for the answers.
func (active ViewTransitions) Check(ctx context.Context, c *frames.Client, hidden bool) error {
	if runs, err := active(); err != nil || !runs {
		return err
	}
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
