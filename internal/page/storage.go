package page

import (
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
)

// Local and session storage are read in our own world: the storage there is the
// very one of the page's origin, and nothing that the page puts in its way, as
// a Storage.prototype or a localStorage of its own, is seen there.

// Items lists what the document's origin keeps in an area.
func (v *View) Items(ctx context.Context, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	var o executor.ItemsOptions
	if opts != nil {
		o = *opts
	}
	op := executor.OpRead
	if o.Values {
		op = executor.OpStorage
	}
	res, origin, err := stored[executor.Items](ctx, v, op, area, "storedItems", o.Keys, o.Values, o.After, cmp.Or(o.MaxChars, executor.DefaultMaxChars))
	if err != nil {
		return nil, err
	}
	res.Origin = origin
	return res, nil
}

// SetItem keeps a value under a key.
func (v *View) SetItem(ctx context.Context, area executor.StorageArea, key, value string) (*executor.Stored, error) {
	return v.changeItems(ctx, area, "setItem", key, value)
}

// RemoveItems removes what is kept under keys.
func (v *View) RemoveItems(ctx context.Context, area executor.StorageArea, keys []string) (*executor.Stored, error) {
	return v.changeItems(ctx, area, "removeItems", keys)
}

func (v *View) changeItems(ctx context.Context, area executor.StorageArea, name string, args ...any) (*executor.Stored, error) {
	count, origin, err := stored[int](ctx, v, executor.OpStorage, area, name, args...)
	if err != nil {
		return nil, err
	}
	return &executor.Stored{Origin: origin, Count: *count}, nil
}

// stored runs an entry point of js/storage.js in the top document.
func stored[T any](ctx context.Context, v *View, op executor.Operation, area executor.StorageArea, name string, args ...any) (*T, string, error) {
	if area != executor.StorageLocal && area != executor.StorageSession {
		return nil, "", executor.Errorf(executor.ErrBadArgs, "Use local or session.", "storage area %q is unknown", string(area))
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	d, _, err := v.site(ctx, op)
	if err != nil {
		return nil, "", err
	}
	var answer struct {
		Done   *T     `json:"done"`
		Failed string `json:"failed"`
	}
	err = d.call(ctx, &answer, name, append([]any{area}, args...)...)
	switch {
	case err != nil:
		return nil, "", timeoutAs(err, "the page's storage")
	case answer.Failed == "QuotaExceededError":
		return nil, "", executor.Errorf(executor.ErrNotActionable, "Remove something first, or keep less.", "the site's %s storage is full (browsers keep about 5 million characters of a site): nothing was stored", area)
	case answer.Done == nil:
		return nil, "", executor.Errorf(executor.ErrNotActionable, "Open a page of the site that may keep something.",
			"the browser gives this page no %s storage: it is sandboxed, or its user blocks what the site keeps (%s)", area, firstLine(answer.Failed))
	}
	return answer.Done, d.origin, nil
}
