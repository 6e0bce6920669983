package page

import (
	"context"
	"errors"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
)

// queryViewTransitions asks the documents that may be read whether a view transition is active in
// them. The caller gets the answer from the returned function.
func (v *View) queryViewTransitions(ctx context.Context) (func() (bool, error), error) {
	docs := v.client.Allowed(ctx, executor.OpRead)
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

// checkViewTransition returns ErrPolicyDenied if an active view transition may show a past document
// that the gate denies, or a denied document that was hidden after the transition started. active
// is a result of queryViewTransitions.
func (v *View) checkViewTransition(ctx context.Context, active func() (bool, error), hidden bool) error {
	if runs, err := active(); err != nil || !runs {
		return err
	}
	past, complete := v.tab.tree.PastDocuments()
	denied := hidden || !complete
	for _, d := range past {
		denied = denied || v.client.Check(ctx, d, executor.OpRead, "") != nil
	}
	if denied {
		return &executor.Error{Code: executor.ErrPolicyDenied, Retryable: true,
			Err:  errors.New("a view transition may show a document that the policy denies"),
			Hint: "Take a snapshot instead, or try again when the transition has ended."}
	}
	return nil
}
