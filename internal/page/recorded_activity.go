package page

import (
	"cmp"
	"context"
	"slices"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/record"
)

// visibility returns what the client may receive of what the tab recorded. The documents of a
// record must be known, and the gate must allow reading each of them with the URL that it had at
// that time. The gate is queried once per document and URL.
func (v *View) visibility(ctx context.Context) record.Visibility {
	denied := cached(func(d frames.Document) bool { return v.client.Check(ctx, &d, executor.OpRead, "") != nil })
	return record.Visibility{
		Records: func(path []*frames.Document) bool {
			return path != nil && !slices.ContainsFunc(path, func(d *frames.Document) bool { return denied(*d) })
		},
		URL: cached(func(url string) bool {
			return v.client.Check(ctx, v.tab.tree.DocumentAt(url), executor.OpList, "") == nil
		}),
		Documents: func() []*frames.Document { return v.client.Allowed(ctx, executor.OpRead) },
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
func (v *View) Console(ctx context.Context, opts *executor.ConsoleOptions) (*executor.Console, error) {
	o := *cmp.Or(opts, new(executor.ConsoleOptions))
	if err := record.CheckLevel(o.Level); err != nil {
		return nil, err
	}
	d, err := v.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	cursor := v.consoleCursor
	v.mu.Unlock()
	res, last := v.tab.Recording.Console(ctx, v.visibility(ctx), cursor, o)
	res.Origin = d.Origin
	if o.Clear {
		v.mu.Lock()
		v.consoleCursor = max(v.consoleCursor, last)
		v.mu.Unlock()
	}
	return res, nil
}

// PageErrors returns uncaught errors of the page.
func (v *View) PageErrors(ctx context.Context, opts *executor.PageErrorsOptions) (*executor.PageErrors, error) {
	d, err := v.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	res := v.tab.Recording.PageErrors(v.visibility(ctx), *cmp.Or(opts, new(executor.PageErrorsOptions)))
	res.Origin = d.Origin
	return res, nil
}

// Requests returns the recorded requests of the tab that the gate allows to be read.
func (v *View) Requests(ctx context.Context, opts *executor.RequestsOptions) (*executor.Requests, error) {
	o := *cmp.Or(opts, new(executor.RequestsOptions))
	switch {
	case o.Body && o.ID == "":
		return nil, executor.Errorf(executor.ErrBadArgs, "Give the id of one request.", "body requires id")
	case o.ID != "" && o.Filter != "":
		return nil, executor.Errorf(executor.ErrBadArgs, "Give one or the other.", "both id and filter given")
	}
	d, err := v.client.Document(ctx, executor.OpRead)
	if err != nil {
		return nil, err
	}
	res, q, err := v.tab.Recording.Requests(v.visibility(ctx), o)
	if err != nil {
		return nil, err
	}
	res.Origin = d.Origin
	if q == nil {
		return res, nil
	}
	if o.Body {
		if err := v.readBody(ctx, q, cmp.Or(o.BodyChars, executor.MaxBody)); err != nil {
			return nil, err
		}
	}
	res.Requests = append(res.Requests, q.Redacted())
	return res, nil
}

// readBody adds the text of the response to q, up to size characters. The body of another site,
// which the page itself may not be able to read, is returned only if the gate allows reading that
// site.
func (v *View) readBody(ctx context.Context, q *record.RequestRecord, size int) error {
	if err := v.client.Check(ctx, v.tab.tree.DocumentAt(q.URL), executor.OpRead, ""); err != nil {
		return err
	}
	switch {
	case v.tab.openerGroup.hasSecret():
		return afterSecretError("the response body is")
	case v.tab.opts.Attach != nil:
		return executor.Errorf(executor.ErrBadArgs, "Omit body, or read the page.", "response bodies are not available in the user's own Chrome")
	}
	return q.ReadBody(ctx, v.tab.tree, size)
}
