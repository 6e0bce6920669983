package page

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// recordedActivity is what a tab recorded, as one client may receive it.
type recordedActivity struct {
	tab    *Tab
	client *frames.Client

	mu            sync.Mutex // guards the field below
	consoleCursor int        // number of the last console message that the client does not want to receive again
}

// visibility returns what the client may receive of what the tab recorded. The documents of a
// record must be known, and the gate must allow reading each of them with the URL that it had at
// that time. The gate is queried once per document and URL.
func (a *recordedActivity) visibility(ctx context.Context) record.Visibility {
	denied := cached(func(d frames.Document) bool { return a.client.Check(ctx, &d, executor.OpRead, "") != nil })
	return record.Visibility{
		Records: func(path []*frames.Document) bool {
			return path != nil && !slices.ContainsFunc(path, func(d *frames.Document) bool { return denied(*d) })
		},
		URL: cached(func(url string) bool {
			return a.client.Check(ctx, a.tab.tree.DocumentForURL(url), executor.OpList, "") == nil
		}),
		Load: cached(func(url string) bool {
			// The decision only explains a request of the past, so it is not recorded.
			ctx := executor.WithCallOptions(ctx, executor.CallOptions{OnDecision: func(executor.Decision) {}})
			return a.client.CheckGate(ctx, a.tab.tree.DocumentForURL(url), executor.OpLoad, url) == nil
		}),
		Documents: func() []*frames.Document { return a.client.Allowed(ctx, executor.OpRead) },
	}
}

// cached returns a function that calls f once for each key.
func cached[K comparable](f func(K) bool) func(K) bool {
	known := make(map[K]bool)
	return func(k K) bool {
		ok, found := known[k]
		if !found {
			ok = f(k)
			known[k] = ok
		}
		return ok
	}
}

// Console returns console messages of the page.
func (a *recordedActivity) Console(ctx context.Context, opts *executor.ConsoleOptions) (*executor.Console, error) {
	o := *cmp.Or(opts, new(executor.ConsoleOptions))
	if err := record.CheckLevel(o.Level); err != nil {
		return nil, err
	}
	d, err := a.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	cursor := a.consoleCursor
	a.mu.Unlock()
	res, last := a.tab.Recording.Console(ctx, a.visibility(ctx), cursor, o)
	res.Origin = d.Origin
	if o.Clear {
		a.mu.Lock()
		a.consoleCursor = max(a.consoleCursor, last)
		a.mu.Unlock()
	}
	return res, nil
}

// PageErrors returns uncaught errors of the page.
func (a *recordedActivity) PageErrors(ctx context.Context, opts *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	d, err := a.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	res := a.tab.Recording.PageErrors(a.visibility(ctx), *cmp.Or(opts, new(executor.PageErrorsOptions)))
	res.Origin = d.Origin
	return res, nil
}

// Requests returns the recorded requests of the tab that the gate allows to be read.
func (a *recordedActivity) Requests(ctx context.Context, opts *executor.RequestsOptions) (*executor.Requests, error) {
	o := *cmp.Or(opts, new(executor.RequestsOptions))
	switch {
	case o.Body && o.ID == "":
		return nil, executor.Errorf(executor.ErrBadArgs, "Give the id of one request.", "body requires id")
	case o.ID != "" && o.Filter != "":
		return nil, executor.Errorf(executor.ErrBadArgs, "Give one or the other.", "both id and filter given")
	}
	d, err := a.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	res, q, err := a.tab.Recording.Requests(a.visibility(ctx), o)
	if err != nil {
		return nil, err
	}
	res.Origin = d.Origin
	if q == nil {
		return res, nil
	}
	if o.Body {
		if err := a.readBody(ctx, q, cmp.Or(o.BodyChars, executor.MaxBody)); err != nil {
			return nil, err
		}
	}
	res.Requests = append(res.Requests, q.Redacted())
	return res, nil
}

// readBody adds the text of the response to q, up to size characters. The body of another site,
// which the page itself may not be able to read, is returned only if the gate allows reading that
// site.
func (a *recordedActivity) readBody(ctx context.Context, q *record.RequestRecord, size int) error {
	if err := a.client.Check(ctx, a.tab.tree.DocumentForURL(q.URL), executor.OpRead, ""); err != nil {
		return err
	}
	switch {
	case a.tab.openerGroup.hasSecret():
		return afterSecretError("the response body is")
	case a.tab.opts.Attach != nil:
		return executor.Errorf(executor.ErrBadArgs, "Omit body, or read the page.", "response bodies are not available in the user's own Chrome")
	}
	return q.ReadBody(ctx, a.tab.tree, size)
}
