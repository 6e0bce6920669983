package sitedata

import (
	"cmp"
	"context"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/frames"
	"github.com/chrome-mcp/chrome-mcp/internal/pagetext"
)

// Page scripts read local and session storage in our isolated world. The storage there is that of
// the page's origin, and a Storage.prototype or localStorage that the page has replaced is not
// visible.

// Items returns the items of a storage area of the top document's origin. It is OpRead without
// values, OpStorage with values.
func (s *Store) Items(ctx context.Context, area executor.StorageArea, opts *executor.ItemsOptions) (*executor.Items, error) {
	o := *cmp.Or(opts, new(executor.ItemsOptions))
	op := executor.OpRead
	if o.Values {
		op = executor.OpStorage
	}
	res, origin, err := callStorageScript[executor.Items](ctx, s, op, area, "storedItems", o.Keys, o.Values, o.After, cmp.Or(o.MaxChars, executor.DefaultMaxChars))
	if err != nil {
		return nil, err
	}
	res.Origin = origin
	s.opts.Mask(res.Items)
	return res, nil
}

// SetItem stores a value under a key.
func (s *Store) SetItem(ctx context.Context, area executor.StorageArea, key, value string) (*executor.StorageChange, error) {
	return s.changeItems(ctx, area, "setItem", key, value)
}

// RemoveItems removes the items with the given keys; nil means all items.
func (s *Store) RemoveItems(ctx context.Context, area executor.StorageArea, keys []string) (*executor.StorageChange, error) {
	return s.changeItems(ctx, area, "removeItems", keys)
}

func (s *Store) changeItems(ctx context.Context, area executor.StorageArea, name string, args ...any) (*executor.StorageChange, error) {
	count, origin, err := callStorageScript[int](ctx, s, executor.OpStorage, area, name, args...)
	if err != nil {
		return nil, err
	}
	return &executor.StorageChange{Origin: origin, Count: *count}, nil
}

// callStorageScript calls the function name of js/storage.js in the top document. It also returns
// the document's origin.
func callStorageScript[T any](ctx context.Context, s *Store, op executor.Operation, area executor.StorageArea, name string, args ...any) (*T, string, error) {
	if area != executor.StorageLocal && area != executor.StorageSession {
		return nil, "", executor.Errorf(executor.ErrBadArgs, "Use local or session.", "storage area %q is unknown", string(area))
	}
	ctx, cancel := context.WithTimeout(ctx, s.client.Tree.Timing().Read)
	defer cancel()
	d, _, err := s.site(ctx, op)
	if err != nil {
		return nil, "", err
	}
	var answer struct {
		Done   *T     `json:"done"`
		Failed string `json:"failed"`
	}
	err = d.Call(ctx, &answer, name, append([]any{area}, args...)...)
	switch {
	case err != nil:
		return nil, "", frames.TimeoutAs(err, "the page's storage")
	case answer.Failed == "QuotaExceededError":
		return nil, "", executor.Errorf(executor.ErrNotActionable, "Remove items first, or store less.", "the site's %s storage is full (browsers keep about 5 million characters of a site): nothing was stored", area)
	case answer.Done == nil:
		return nil, "", executor.Errorf(executor.ErrNotActionable, "Open a page of the site that may use storage.",
			"the browser denies this page %s storage: the page is sandboxed, or the user blocks the site's data (%s)", area, pagetext.FirstLine(answer.Failed))
	}
	return answer.Done, d.Origin, nil
}
